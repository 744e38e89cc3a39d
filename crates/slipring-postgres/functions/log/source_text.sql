-- Purpose: how the store's own functions answer where a dead letter comes from.
-- Inputs:  p_source, the name of its queue or null; p_earlier, its deliveries before.
-- Lock:    none.
-- Index:   none.
-- Answers: the name, then ':' and the count where there is one; no name has a colon.
CREATE OR REPLACE FUNCTION slipring.source_text(p_source text, p_earlier bigint)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_earlier > 0 THEN p_source || ':' || p_earlier::text
        ELSE p_source END
$$;
