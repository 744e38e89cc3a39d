-- Purpose: headers as the store keeps them: a JSON object of texts.
-- Inputs:  p_headers, a JSON object or null; values that are not texts become their JSON text; for
--          the error: p_queue, the queue's name, and p_index, the place of their message among
--          several, from 0, or null.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.headers_text(
    p_headers jsonb, p_queue text, p_index int DEFAULT NULL)
RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    IF p_headers IS NULL THEN
        RETURN NULL;
    ELSIF jsonb_typeof(p_headers) <> 'object' THEN
        PERFORM slipring.fail('SR007', format('headers are a JSON %s; give an object of texts',
            jsonb_typeof(p_headers)),
            jsonb_strip_nulls(jsonb_build_object('queue', p_queue, 'index', p_index)));
    END IF;
    RETURN (SELECT coalesce(jsonb_object_agg(h.key, coalesce(h.value, 'null')), '{}')::text
            FROM jsonb_each_text(p_headers) h);
END $$;
