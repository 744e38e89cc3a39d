-- Purpose: makes the commit of this transaction not wait for its flush, so that the queue's lock is
--          not held over it; who called waits for it afterwards, by flush.
-- Inputs:  p_relaxed, whether the queue's commits need no flush.
-- Lock:    none.
-- Index:   none.
-- Answers: what flush has to answer afterwards: anything else means that the server was restarted
--          in between and may have lost the commit. Null where there is nothing to wait for.
CREATE OR REPLACE FUNCTION slipring.commit_defer(p_relaxed boolean)
RETURNS text LANGUAGE plpgsql
SET search_path = pg_catalog, slipring, pg_temp AS $$
DECLARE
    v_token text;
BEGIN
    IF p_relaxed IS NOT FALSE THEN
        PERFORM slipring.commit_mode(true);
        RETURN NULL;
    END IF;
    SELECT i.token INTO v_token FROM slipring.incarnation i;
    IF v_token IS NULL THEN
        -- The first one after a start: nobody could tell later whether it is the same server.
        PERFORM slipring.commit_mode(false);
        INSERT INTO slipring.incarnation (token) VALUES (gen_random_uuid()::text)
        ON CONFLICT DO NOTHING;
        RETURN NULL;
    END IF;
    PERFORM set_config('synchronous_commit', 'off', true);
    RETURN v_token;
END $$;
