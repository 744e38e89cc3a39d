-- Purpose: the newest picture of a message, if it is there.
-- Inputs:  p_id.
-- Lock:    the caller's snapshot; the queue's lock where it will write another.
-- Index:   item_picture_N_newest, backwards, one step in each slot.
CREATE OR REPLACE FUNCTION slipring.item_now(p_id bigint)
RETURNS SETOF slipring.item_picture LANGUAGE sql STABLE AS $$
    SELECT * FROM (SELECT * FROM item_picture p WHERE p.id = p_id
        ORDER BY p.seq DESC LIMIT 1) p
    WHERE p.state < 4
$$;
