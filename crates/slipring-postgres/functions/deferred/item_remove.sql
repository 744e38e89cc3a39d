-- Purpose: removes messages that have pictures, for good.
-- Inputs:  p_queue; p_ids.
-- Lock:    the queue's lock.
-- Index:   see item_set.
-- Answers: how many were there.
CREATE OR REPLACE FUNCTION slipring.item_remove(p_queue slipring.queue, p_ids bigint[])
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_ids bigint[] := ARRAY(SELECT DISTINCT u FROM unnest(p_ids) u);
    v_n int := cardinality(v_ids);
BEGIN
    IF v_n = 0 THEN
        RETURN 0;
    END IF;
    RETURN slipring.item_set(p_queue, v_ids, array_fill(4, ARRAY[v_n]),
        array_fill(0::bigint, ARRAY[v_n]));
END $$;
