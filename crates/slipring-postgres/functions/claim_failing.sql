-- Purpose: the priority of the first failing message of a standard queue, where no other message with
--          pictures is ready (S11.1).
-- Inputs:  p_queue, some of whose messages with pictures are ready.
-- Lock:    the caller holds the queue's lock.
-- Index:   see items_first.
-- Answers: null where there are others too, or none.
CREATE OR REPLACE FUNCTION slipring.claim_failing(p_queue slipring.queue)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_done int8multirange := slipring.cut(p_queue.xid_base);
BEGIN
    IF EXISTS (SELECT FROM slipring.items_first(
            slipring.mark_read(p_queue.queue_id, 1), v_done, 1))
        OR EXISTS (SELECT FROM slipring.items_first(
            slipring.mark_read(p_queue.queue_id, 7), v_done, 1)) THEN
        RETURN NULL;
    END IF;
    RETURN (SELECT i.priority FROM slipring.items_first(
        slipring.mark_read(p_queue.queue_id, 8), v_done, 1) i);
END $$;
