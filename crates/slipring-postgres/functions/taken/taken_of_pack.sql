-- Purpose: locks some messages of a pack, which others may have some of as well.
-- Inputs:  p_queue; p_tables, see live_table_names; p_lane; p_id of the pack; p_part, the messages to
--          look at; p_want, how many at most.
-- Lock:    the pack's row, with others; the messages', advisory, to the end of the transaction.
-- Index:   the partitions' order indexes, one step.
-- Answers: the messages that were locked; none where all of the pack is in somebody's hands.
CREATE OR REPLACE FUNCTION slipring.taken_of_pack(
    p_queue slipring.queue, p_tables text[], p_lane bigint, p_id bigint, p_part int8range,
    p_want bigint)
RETURNS int8multirange LANGUAGE plpgsql AS $$
DECLARE
    v_some int8multirange := '{}';
    v_table text;
    v_found boolean;
    v_id bigint;
BEGIN
    FOREACH v_table IN ARRAY p_tables LOOP
        EXECUTE format('SELECT true FROM %s m WHERE m.lane = $1 AND m.id = $2
            FOR KEY SHARE SKIP LOCKED', v_table)
        INTO v_found USING p_lane, p_id;
        EXIT WHEN v_found;
    END LOOP;
    IF v_found THEN
        FOR v_at IN 0..(upper(p_part) - lower(p_part) - 1)::int LOOP
            EXIT WHEN p_want <= 0;
            v_id := lower(p_part) + v_at;
            IF pg_try_advisory_xact_lock(hashint8extended(v_id, p_queue.lock_key # 1)) THEN
                v_some := v_some + int8multirange(int8range(v_id, v_id + 1));
                p_want := p_want - 1;
            END IF;
        END LOOP;
    END IF;
    RETURN v_some;
END $$;
