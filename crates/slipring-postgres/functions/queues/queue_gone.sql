-- Purpose: raises the error for a queue that is not there.
-- Inputs:  p_queue, or null; p_name, or null where it is not known.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.queue_gone(p_queue int, p_name text DEFAULT NULL)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    -- A number is not told as the queue: a server, which knows the name, adds it then.
    PERFORM slipring.fail('SR001',
        format('queue %s does not exist', CASE WHEN p_name IS NULL THEN 'number ' || p_queue
            ELSE slipring.name_shown(p_name) END),
        -- A name is whole here unless it is longer than any queue's.
        jsonb_strip_nulls(jsonb_build_object('queue', CASE WHEN length(p_name) > {{QUEUE_NAME_MAX}}
            THEN left(p_name, {{QUEUE_NAME_MAX}}) || '...' ELSE p_name END)));
END $$;
