-- Purpose: refuses a caller without a right in a queue (42501).
-- Inputs:  p_kind, see queue_right; p_queue.
-- Lock:    none.
-- Index:   see queue_right.
CREATE OR REPLACE FUNCTION slipring.queue_allow(p_kind text, p_queue slipring.queue)
RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF NOT slipring.queue_right(p_kind, p_queue.queue_id) THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege', MESSAGE = format(
            'permission denied for queue %s: %s is no %s of it', p_queue.name, slipring.caller(),
            p_kind), DETAIL = jsonb_build_object('queue', p_queue.name)::text;
    END IF;
END $$;
