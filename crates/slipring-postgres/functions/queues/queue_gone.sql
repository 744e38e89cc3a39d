-- Purpose: raises the error for a queue that is not there.
-- Inputs:  p_queue; p_name, or null where nobody knows it any more.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.queue_gone(p_queue int, p_name text DEFAULT NULL)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    -- A number is not told as the queue: a server, which knows the name, adds it then.
    PERFORM slipring.fail('SR001',
        format('queue %s does not exist', coalesce(p_name, 'number ' || p_queue)),
        jsonb_strip_nulls(jsonb_build_object('queue', p_name)));
END $$;
