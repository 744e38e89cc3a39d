-- Purpose: empties tables that nobody writes to any more.
-- Inputs:  p_tables, their names, ready for a statement.
-- Lock:    that of tables_lock, for which it waits 20 ms at most.
-- Index:   none.
-- Answers: whether it did; false when another transaction reads one of them: a later step has to try
--          again.
CREATE OR REPLACE FUNCTION slipring.tables_empty(p_tables text)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF NOT slipring.tables_lock(p_tables, 20) THEN
        RETURN false;
    END IF;
    EXECUTE format('TRUNCATE %s', p_tables);
    RETURN true;
END $$;
