-- Purpose: raises the error for a queue that is not there.
-- Inputs:  p_queue.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.queue_gone(p_queue int)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM slipring.fail('SR001', format('queue %s does not exist', p_queue),
        jsonb_build_object('queue', p_queue));
END $$;
