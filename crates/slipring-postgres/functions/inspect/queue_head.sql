-- Purpose: the message that a receive of one would get; a failing one only where there is no other
--          (S7.6).
-- Inputs:  p_queue, which is not paused; p_now_ms.
-- Lock:    none for a standard queue: the state is read first, and what leaves a table before it is
--          emptied is on the shelf by then. The lock of a FIFO queue is tried, to bring groups up to
--          date; where another has it, and where no group is known to give something while the log has
--          messages, the first message of the log or of any group is answered.
-- Index:   the partitions' order indexes, see items_ready and items_first; see fifo_open, acks_take.
CREATE OR REPLACE FUNCTION slipring.queue_head(p_queue slipring.queue, p_now_ms bigint)
RETURNS TABLE (failing boolean, priority bigint, sent_ms bigint, id bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_state slipring.state := slipring.state_read(p_queue);
    v_done int8multirange;
    v_before bigint;
BEGIN
    IF p_queue.fifo AND slipring.queue_free(p_queue.queue_id) THEN
        -- It may have been deleted before the lock was there, which is not waited for here.
        p_queue := slipring.queue_lock(p_queue.queue_id, false);
        IF p_queue.queue_id IS NULL THEN
            RETURN;
        END IF;
        -- An ack by SQL lets the next message of its group come.
        v_state := slipring.fifo_bring_in(p_queue, slipring.acks_take(p_queue, slipring.state_read(p_queue),
            p_now_ms), 1, statement_timestamp());
        v_before := slipring.fifo_before(p_queue, v_state, slipring.cut(p_queue.xid_base));
        RETURN QUERY SELECT false, i.priority, i.sent_ms, i.id
        FROM slipring.fifo_open(p_queue.queue_id, 1, 1, v_before) f
        CROSS JOIN LATERAL slipring.item_now(f.id) i;
        IF FOUND OR v_before = {{BIGINT_MAX}} THEN
            RETURN;
        END IF;
    END IF;
    v_done := slipring.cut(p_queue.xid_base);
    RETURN QUERY SELECT h.failing, h.priority, h.sent_ms, h.id FROM (
        SELECT false AS failing, CASE WHEN p_queue.fifo THEN {{PRIORITY_DEFAULT}}
                ELSE v_state.lanes[f.at] & {{PRIORITY_MAX}} END AS priority, f.sent_ms, f.id
        FROM slipring.log_feed(p_queue, v_state, v_done, 1) f
        UNION ALL
        SELECT false, i.priority, i.sent_ms, i.id
        FROM slipring.fifo_open(p_queue.queue_id, 1, 1, {{BIGINT_MAX}}) f
        CROSS JOIN LATERAL slipring.item_now(f.id) i WHERE p_queue.fifo
        UNION ALL
        SELECT k = 8, i.priority, i.sent_ms, i.id FROM unnest(ARRAY[1, 7, 8]) k
        CROSS JOIN LATERAL slipring.items_first(
            slipring.mark_read(p_queue.queue_id, k), v_done, 1) i
        WHERE NOT p_queue.fifo AND slipring.items_ready(p_queue.queue_id)) h
    ORDER BY h.failing, h.priority, h.id LIMIT 1;
END $$;
