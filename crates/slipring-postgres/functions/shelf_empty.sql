-- Purpose: empties an older generation of the shelf, of which all that lives has been copied.
-- Inputs:  p_slot of it; p_shelf, the present generation.
-- Lock:    the caller holds the lock of rotation. ACCESS EXCLUSIVE on the tables, for which it
--          waits 20 ms at most.
-- Index:   mark_newest.
-- Answers: whether it did.
CREATE OR REPLACE FUNCTION slipring.shelf_empty(p_slot int, p_shelf bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_tables text := (SELECT string_agg(format('slipring.%s_%s', t, p_slot), ', ')
        FROM unnest(slipring.shelf_tables()) t);
BEGIN
    BEGIN
        PERFORM set_config('lock_timeout', '20ms', true);
        EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', v_tables);
        INSERT INTO slipring.mark (slot, queue_id, kind, seq, turn, id, unseen)
        SELECT p_shelf % 3, 0, m.kind, m.seq + 1, m.turn, m.id, m.unseen
        FROM unnest(ARRAY[0, 2]) k CROSS JOIN LATERAL slipring.mark_read(0, k) m
        WHERE m.slot = p_slot;
        EXECUTE format('TRUNCATE %s', v_tables);
    EXCEPTION WHEN lock_not_available THEN
        -- Somebody is in one of the tables; a later step tries again.
        RETURN false;
    END;
    RETURN true;
END $$;
