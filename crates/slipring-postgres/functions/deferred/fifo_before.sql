-- Purpose: up to where the messages of a FIFO queue have been brought into their groups.
-- Inputs:  p_queue, p_state; p_done, the cut.
-- Lock:    the caller holds the queue's lock.
-- Index:   the partitions' order indexes, one step.
-- Answers: the first number in the log; the highest there is where the log is empty.
CREATE OR REPLACE FUNCTION slipring.fifo_before(
    p_queue slipring.queue, p_state slipring.state, p_done int8multirange)
RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT coalesce((SELECT f.id FROM slipring.log_feed(p_queue, p_state, p_done, 1) f),
        {{BIGINT_MAX}})
$$;
