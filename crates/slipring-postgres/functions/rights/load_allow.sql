-- Purpose: refuses a caller who is no producer of the queue of a load (42501).
-- Inputs:  p_load; one that is not there is the caller's to tell.
-- Lock:    none.
-- Index:   load_pkey, queue_pkey.
CREATE OR REPLACE FUNCTION slipring.load_allow(p_load bigint)
RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM slipring.queue_allow('producer', q) FROM slipring.load l
    JOIN slipring.queue q ON q.queue_id = l.queue_id WHERE l.load_id = p_load;
END $$;
