-- Purpose: notes in the state that a lease has ended other than by ack, so that an ack in a
--          transaction with an older snapshot sees that it may be too late.
-- Inputs:  p_queue.
-- Lock:    the caller holds the queue's lock.
-- Index:   state_newest.
CREATE OR REPLACE FUNCTION slipring.endings_note(p_queue slipring.queue)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_state slipring.state := slipring.state_read(p_queue);
BEGIN
    v_state.seq := v_state.seq + 1;
    v_state.endings := nextval(p_queue.endings);
    PERFORM slipring.state_write(p_queue, v_state);
END $$;
