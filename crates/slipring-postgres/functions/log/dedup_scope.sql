-- Purpose: within what a deduplication id is unique: '' is the queue, ':name' a group (S8.2).
-- Inputs:  p_by_group, the queue's setting; p_group of the message.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.dedup_scope(p_by_group boolean, p_group text)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_by_group THEN ':' || coalesce(p_group, '') ELSE '' END
$$;
