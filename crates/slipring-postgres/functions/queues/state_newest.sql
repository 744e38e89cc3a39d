-- Purpose: the newest state of a queue, as it was written.
-- Inputs:  p_queue.
-- Lock:    none; the caller's snapshot.
-- Index:   state_newest, backwards, one step in each slot.
CREATE OR REPLACE FUNCTION slipring.state_newest(p_queue int)
RETURNS slipring.state LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_state slipring.state;
BEGIN
    SELECT * INTO v_state FROM state s WHERE s.queue_id = p_queue
    ORDER BY s.seq DESC LIMIT 1;
    IF v_state.queue_id IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = '40001',
            MESSAGE = 'the state of the queue has moved on; try again in a new transaction';
    END IF;
    RETURN v_state;
END $$;
