-- Purpose: how many bytes of headers count against limits: names and values.
-- Inputs:  p_headers, a JSON object of texts, or null.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.headers_bytes(p_headers text)
RETURNS int LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_headers IS NULL THEN 0 ELSE coalesce(
        (SELECT sum(octet_length(h.key) + octet_length(h.value))
         FROM jsonb_each_text(p_headers::jsonb) h), 0) END::int
$$;
