-- Purpose: a set of message tables for a new queue of its own: one whose queue is gone and that is
--          empty, or new ones.
-- Inputs:  p_queue, the new queue's number.
-- Lock:    the row of the place; the parent table only against other changes of its partitions,
--          senders go on.
-- Index:   place_free.
CREATE OR REPLACE FUNCTION slipring.place_take(p_queue int)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    v_place int;
BEGIN
    UPDATE slipring.place SET queue_id = p_queue, mark = NULL, empty = false
    WHERE place = (SELECT p.place FROM slipring.place p WHERE p.queue_id IS NULL AND p.empty
                   ORDER BY p.place LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING place INTO v_place;
    IF v_place IS NOT NULL THEN
        RETURN v_place;
    END IF;
    INSERT INTO slipring.place (queue_id) VALUES (p_queue) RETURNING place INTO v_place;
    PERFORM slipring.place_make(v_place, false);
    RETURN v_place;
END $$;
