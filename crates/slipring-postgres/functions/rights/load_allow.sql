-- Purpose: refuses a caller who is no producer of the queue of a load (42501), and does not name that.
-- Inputs:  p_load; one that is not there is the caller's to tell.
-- Lock:    none.
-- Index:   load_pkey, queue_pkey.
CREATE OR REPLACE FUNCTION slipring.load_allow(p_load bigint)
RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF EXISTS (SELECT FROM slipring.load l WHERE l.load_id = p_load
        AND NOT slipring.queue_right('producer', l.queue_id))
    THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege', MESSAGE = format(
            'permission denied for load %s: %s is no producer of its queue', p_load, slipring.caller()),
            DETAIL = jsonb_build_object('load', p_load)::text;
    END IF;
END $$;
