-- Purpose: the background work of a server, for databases that no server runs on: ends delays and
--          leases whose time has come, applies retention, rotates the tables, forgets loads. Must be
--          called outside a transaction: each step is one. Any number of sessions may call it, also
--          beside servers.
-- Inputs:  for how long at most, null for as long as 8 rounds take; what is left, the next call does.
-- Lock:    see maintain_step.
-- Index:   see maintenance, maintain_step.
-- Answers: nothing. A step that fails keeps no other from being done; the first of such errors is raised at the end.
CREATE OR REPLACE PROCEDURE slipring.maintain(at_most interval DEFAULT '30 seconds')
LANGUAGE plpgsql AS $$
DECLARE
    -- See await.
    v_until pg_catalog.timestamptz := pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+)
        greatest('0'::pg_catalog.interval, least('100 years'::pg_catalog.interval, at_most));
    v_turn pg_catalog.record;
    v_at int;
    v_more boolean;
    v_turn_until pg_catalog.timestamptz;
    v_state pg_catalog.text;
    v_message pg_catalog.text;
    v_detail pg_catalog.text;
    v_hint pg_catalog.text;
    v_failed pg_catalog.text;
BEGIN
    -- Kinds and queues take turns of a second, so that much to do for one keeps no other waiting.
    FOR v_round IN 1..8 LOOP
        v_more := false;
        FOR v_turn IN SELECT * FROM slipring.maintenance() LOOP
            v_at := v_turn.at;
            v_turn_until := least(pg_catalog.clock_timestamp()
                OPERATOR(pg_catalog.+) '1 second'::pg_catalog.interval, v_until);
            WHILE v_at IS NOT NULL AND pg_catalog.clock_timestamp() OPERATOR(pg_catalog.<) v_turn_until LOOP
                COMMIT;
                BEGIN
                    v_at := slipring.maintain_step(v_turn.step, v_at);
                EXCEPTION WHEN OTHERS THEN
                    v_at := NULL;
                    IF v_state IS NULL THEN
                        GET STACKED DIAGNOSTICS v_state = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT,
                            v_detail = PG_EXCEPTION_DETAIL, v_hint = PG_EXCEPTION_HINT;
                        v_failed := pg_catalog.concat('Step ', v_turn.step, ' at ', v_turn.at, ' failed,');
                    END IF;
                END;
            END LOOP;
            v_more := v_more OR v_at IS NOT NULL;
        END LOOP;
        COMMIT;
        EXIT WHEN NOT v_more OR pg_catalog.clock_timestamp() OPERATOR(pg_catalog.>=) v_until;
    END LOOP;
    IF v_state IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = v_state, MESSAGE = v_message,
            DETAIL = v_detail,
            HINT = pg_catalog.concat_ws(' ', v_failed, 'and the other steps were gone on with.',
                CASE WHEN pg_catalog.length(v_hint) OPERATOR(pg_catalog.>) 0 THEN v_hint END);
    END IF;
END $$;
