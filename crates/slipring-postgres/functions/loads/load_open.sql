-- Purpose: an open load.
-- Inputs:  p_load, which it is an error not to find (SR009) or to find published (SR008).
-- Lock:    none.
-- Index:   load_pkey.
CREATE OR REPLACE FUNCTION slipring.load_open(p_load bigint)
RETURNS slipring.load LANGUAGE plpgsql AS $$
DECLARE
    v_load slipring.load;
BEGIN
    SELECT * INTO v_load FROM slipring.load l WHERE l.load_id = p_load;
    IF v_load.load_id IS NULL THEN
        PERFORM slipring.fail('SR009', format('load %s is not there: it was abandoned, its queue '
            'was deleted, nothing was appended for 24 hours, or it was published longer ago', coalesce(p_load::text,
            'null')), jsonb_build_object('load', p_load));
    ELSIF v_load.published THEN
        PERFORM slipring.fail('SR008', format('load %s is published: its messages are in the queue',
            p_load), jsonb_build_object('load', p_load));
    END IF;
    RETURN v_load;
END $$;
