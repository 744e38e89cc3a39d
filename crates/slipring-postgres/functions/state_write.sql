-- Purpose: makes a picture of a queue its newest state, and tells those who poll.
-- Inputs:  p_queue; p_state as read and changed; its seq is the one to write.
-- Lock:    the caller holds the queue's lock.
-- Index:   state_newest grows by one entry.
CREATE OR REPLACE FUNCTION slipring.state_write(p_queue slipring.queue, p_state slipring.state)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    p_state.slot := pg_sequence_last_value('slipring.journal') % 3;
    -- With what a transaction that was rolled back, or a crash, has added: whoever ends leases has
    -- the queue's lock, so that nobody's end is on its way now.
    p_state.endings := pg_sequence_last_value(p_queue.endings);
    INSERT INTO slipring.state SELECT (p_state).*;
    -- After the row, so that the transaction has its number before the sequence moves.
    PERFORM nextval(p_queue.activity);
END $$;
