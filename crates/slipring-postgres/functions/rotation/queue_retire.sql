-- Purpose: lets nobody read the oldest message table of a queue any more, if all its messages are
--          done with, also those of open loads. What is left of a few messages for long is moved to
--          the shelf; where others need the table, all that is left is, a part at a time. The table
--          is emptied by a later step, see queue_empty; of a set, see place_step.
-- Inputs:  p_queue; p_table, its oldest message table: no transaction writes to it any more; p_all, whether to
--          move all messages that are left; p_since_ms, since when the next table is written; p_now_ms;
--          p_age_ms.
-- Lock:    the caller holds the queue's lock.
-- Index:   the table's order index, lease_newest.
-- Answers: whether it did something.
CREATE OR REPLACE FUNCTION slipring.queue_retire(
    p_queue slipring.queue, p_table text, p_all boolean, p_since_ms bigint, p_now_ms bigint,
    p_age_ms bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_state slipring.state := slipring.acks_take(p_queue, slipring.state_read(p_queue), p_now_ms);
    v_left boolean;
    v_now slipring.state;
BEGIN
    v_left := slipring.retire_ready(p_queue, p_table,
        p_all OR slipring.generation_aged(p_since_ms, p_now_ms, 10 * p_age_ms), p_all) > 0;
    -- Read after it: a message that it did not find ready may have been handed out a moment ago.
    v_now := slipring.state_read(p_queue);
    IF (p_all OR NOT v_left) AND v_now.leased > 0 THEN
        v_left := slipring.retire_leased(p_queue, p_table, p_now_ms - p_age_ms);
    END IF;
    v_now := slipring.state_read(p_queue);
    -- Those of open loads are not in the lanes yet.
    IF p_queue.generation_low IS NOT NULL OR v_left OR slipring.log_any(p_table, v_now.lanes, array_fill(
            slipring.load_held(p_queue.queue_id), ARRAY[cardinality(v_now.lanes)])) THEN
        RETURN v_now.seq <> v_state.seq;
    END IF;
    v_now.seq := v_now.seq + 1;
    v_now.generation_low := v_now.generation_low + 1;
    v_now.generation_mark := NULL;
    PERFORM slipring.state_write(p_queue, v_now);
    RETURN true;
END $$;
