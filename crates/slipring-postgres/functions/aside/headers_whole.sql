-- Purpose: whether stored headers can be read: servers take an object of texts and nothing else.
-- Inputs:  p_headers, see message.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.headers_whole(p_headers text)
RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    -- What is no object fails, and what jsonb, as receives by SQL answer it, cannot hold. Of equal keys a server
    -- reads each.
    PERFORM p_headers::jsonb;
    RETURN NOT EXISTS (SELECT FROM json_each(p_headers::json) h WHERE json_typeof(h.value) <> 'string');
EXCEPTION WHEN OTHERS THEN
    RETURN false;
END $$;
