-- Purpose: empties an older generation of the shelf, of which all that lives has been copied.
-- Inputs:  p_slot of it.
-- Lock:    the caller holds the lock of rotation. ACCESS EXCLUSIVE on the tables, for which it
--          waits 20 ms at most.
-- Index:   none.
-- Answers: whether it did.
CREATE OR REPLACE FUNCTION slipring.shelf_empty(p_slot int)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_tables text := (SELECT string_agg(format('slipring.%s_%s', t, p_slot), ', ')
        FROM unnest(slipring.shelf_tables()) t);
BEGIN
    BEGIN
        PERFORM set_config('lock_timeout', '20ms', true);
        EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', v_tables);
        EXECUTE format('TRUNCATE %s', v_tables);
    EXCEPTION WHEN lock_not_available THEN
        -- Somebody is in one of the tables; a later step tries again.
        RETURN false;
    END;
    RETURN true;
END $$;
