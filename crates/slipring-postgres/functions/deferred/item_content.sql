-- Purpose: what never changes of a message that has pictures.
-- Inputs:  p_id.
-- Lock:    the caller's snapshot.
-- Index:   item_body_id, one step in each slot; while the shelf rotates there may be two copies.
CREATE OR REPLACE FUNCTION slipring.item_content(p_id bigint)
RETURNS SETOF slipring.item_body LANGUAGE sql STABLE AS $$
    SELECT * FROM item_body b WHERE b.id = p_id LIMIT 1
$$;
