-- Purpose: a set of message tables that a queue shares with others.
-- Inputs:  p_now_ms.
-- Lock:    the caller holds the lock of administration; the row of the place; see place_add.
-- Index:   place_shared.
CREATE OR REPLACE FUNCTION slipring.place_share(p_now_ms bigint)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    v_place int;
BEGIN
    UPDATE slipring.place SET queues = queues + 1
    WHERE place = (SELECT p.place FROM slipring.place p
                   WHERE p.shared AND NOT p.reserved AND p.queues < {{PLACE_QUEUES_MAX}}
                   ORDER BY p.place LIMIT 1)
    RETURNING place INTO v_place;
    RETURN coalesce(v_place, slipring.place_add(NULL, p_now_ms));
END $$;
