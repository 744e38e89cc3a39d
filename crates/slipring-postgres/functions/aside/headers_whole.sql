-- Purpose: whether stored headers can be read.
-- Inputs:  p_headers, see message.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.headers_whole(p_headers text)
RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN jsonb_typeof(p_headers::jsonb) = 'object';
EXCEPTION WHEN OTHERS THEN
    RETURN false;
END $$;
