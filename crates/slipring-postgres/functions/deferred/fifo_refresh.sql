-- Purpose: brings those groups of a FIFO queue up to date in which others, without the queue's
--          lock, have put messages: senders with a delay, and other queues' dead letters.
-- Inputs:  p_queue, p_state.
-- Lock:    the caller holds the queue's lock.
-- Index:   mark_newest; fifo_touched_queue for entries that the mark has not seen; see
--          fifo_groups_set.
CREATE OR REPLACE FUNCTION slipring.fifo_refresh(p_queue slipring.queue, p_state slipring.state)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_mark slipring.mark := slipring.mark_read(p_queue.queue_id, 5);
    v_done int8multirange := slipring.cut(p_queue.xid_base);
    v_new record;
BEGIN
    SELECT array_agg(t.name) AS names, array_agg(t.id) AS ids INTO v_new
    FROM slipring.spans(CASE WHEN v_mark.seq = 0 THEN '{[0,)}' ELSE v_mark.unseen END) r
    CROSS JOIN LATERAL (
        SELECT t.name, t.id FROM fifo_touched t
        WHERE t.queue_id = p_queue.queue_id AND t.entry >= r.first
            AND t.entry < r.past OFFSET 0) t;
    IF v_new.names IS NOT NULL THEN
        PERFORM slipring.fifo_groups_set(p_queue, v_new.names, v_new.ids, NULL, false,
            slipring.fifo_before(p_queue, p_state, v_done));
        PERFORM slipring.mark_write(v_mark, 0, 0, v_done);
    END IF;
END $$;
