-- Purpose: up to where the messages of a queue are in their groups, when receives have brought in
--          what they look at (S7.7).
-- Inputs:  p_queue.
-- Lock:    the caller holds the queue's lock.
-- Index:   see fifo_bring_in, fifo_before.
-- Answers: as fifo_before; null for a standard queue.
CREATE OR REPLACE FUNCTION slipring.fifo_known(p_queue slipring.queue)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_state slipring.state;
BEGIN
    IF NOT p_queue.fifo THEN
        RETURN NULL;
    END IF;
    v_state := slipring.fifo_bring_in(p_queue, slipring.state_read(p_queue), 0);
    RETURN slipring.fifo_before(p_queue, v_state, slipring.cut(p_queue.xid_base));
END $$;
