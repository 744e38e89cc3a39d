-- Purpose: whether stored headers can be read: servers take an object of texts and nothing else.
-- Inputs:  p_headers, see message.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.headers_whole(p_headers text)
RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    -- What is no object fails.
    RETURN NOT EXISTS (SELECT FROM jsonb_each(p_headers::jsonb) h
        WHERE jsonb_typeof(h.value) <> 'string');
EXCEPTION WHEN OTHERS THEN
    RETURN false;
END $$;
