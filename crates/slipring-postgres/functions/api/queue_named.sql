-- Purpose: the queue of a name, for a caller who has a right in it.
-- Inputs:  p_name, which it is an error not to find (SR001) or not to name (SR007); p_kind of right,
--          see queue_allow.
-- Lock:    none.
-- Index:   queue_name.
CREATE OR REPLACE FUNCTION slipring.queue_named(p_name text, p_kind text)
RETURNS slipring.queue LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_queue slipring.queue;
BEGIN
    SELECT * INTO v_queue FROM slipring.queue q WHERE q.name = p_name;
    IF p_name IS NULL THEN
        PERFORM slipring.fail('SR007', 'the name of the queue is null', '{}');
    ELSIF v_queue.queue_id IS NULL THEN
        PERFORM slipring.queue_gone(NULL, p_name);
    END IF;
    PERFORM slipring.queue_allow(p_kind, v_queue);
    RETURN v_queue;
END $$;
