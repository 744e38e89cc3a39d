-- Purpose: refuses a queue of a database that was restored and not imported (SR010): transactions
--          may be numbered anew there, so that what is sent would be taken for what was received.
-- Inputs:  p_queue as read.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.queue_at_home(p_queue slipring.queue)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF p_queue.home_at <> p_queue.written_at THEN
        PERFORM slipring.import_needed(jsonb_build_object('queue', p_queue.name));
    END IF;
END $$;
