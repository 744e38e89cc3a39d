-- Purpose: whether a text can be the name of a queue (S14.1).
-- Inputs:  p_name.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.queue_name_ok(p_name text)
RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT p_name IS NOT NULL AND p_name ~ '^[-A-Za-z0-9+/;.$_()]{1,{{QUEUE_NAME_MAX}}}$'
        AND NOT starts_with(p_name, '-')
$$;
