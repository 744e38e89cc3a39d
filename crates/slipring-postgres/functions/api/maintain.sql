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
    v_until timestamptz := coalesce(clock_timestamp() + at_most, 'infinity');
    v_turn record;
    v_at int;
    v_more boolean;
    v_turn_until timestamptz;
    v_state text;
    v_message text;
    v_detail text;
    v_hint text;
BEGIN
    -- Kinds and queues take turns of a second, so that much to do for one keeps no other waiting.
    FOR v_round IN 1..8 LOOP
        v_more := false;
        FOR v_turn IN SELECT * FROM slipring.maintenance() LOOP
            v_at := v_turn.at;
            v_turn_until := least(clock_timestamp() + interval '1 second', v_until);
            WHILE v_at IS NOT NULL AND clock_timestamp() < v_turn_until LOOP
                COMMIT;
                BEGIN
                    v_at := slipring.maintain_step(v_turn.step, v_at);
                EXCEPTION WHEN OTHERS THEN
                    v_at := NULL;
                    IF v_state IS NULL THEN
                        GET STACKED DIAGNOSTICS v_state = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT,
                            v_detail = PG_EXCEPTION_DETAIL, v_hint = PG_EXCEPTION_HINT;
                    END IF;
                END;
            END LOOP;
            v_more := v_more OR v_at IS NOT NULL;
        END LOOP;
        COMMIT;
        EXIT WHEN NOT v_more OR clock_timestamp() >= v_until;
    END LOOP;
    IF v_state IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = v_state, MESSAGE = v_message, DETAIL = v_detail, HINT = v_hint;
    END IF;
END $$;
