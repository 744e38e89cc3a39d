-- Purpose: a set of message tables for one queue that has grown: one that was given back, or a new one.
-- Inputs:  p_queue, its number; p_now_ms.
-- Lock:    the caller holds the locks of administration and of rotation; the rows of the place; see place_add.
-- Index:   place_shared; place_rotation_pkey.
-- Answers: its number; null where grown_tables_max of the store are in use.
CREATE OR REPLACE FUNCTION slipring.place_reserve(p_queue int, p_now_ms bigint)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    v_used bigint := (SELECT count(*) FROM slipring.place p
        WHERE p.shared AND p.reserved AND p.queues > 0);
    v_place int;
BEGIN
    IF v_used >= (SELECT s.grown_tables_max FROM slipring.store s) THEN
        RETURN NULL;
    END IF;
    UPDATE slipring.place SET queue_id = p_queue, queues = 1
    WHERE place = (SELECT p.place FROM slipring.place p
                   WHERE p.shared AND p.reserved AND p.queues = 0 ORDER BY p.place LIMIT 1)
    RETURNING place INTO v_place;
    IF v_place IS NULL THEN
        RETURN slipring.place_add(p_queue, p_now_ms);
    END IF;
    UPDATE slipring.place_rotation r SET since_ms = p_now_ms WHERE r.place = v_place;
    RETURN v_place;
END $$;
