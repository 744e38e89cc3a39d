-- Purpose: empties tables that nobody writes to any more.
-- Inputs:  p_tables, their names, ready for a statement.
-- Lock:    ACCESS EXCLUSIVE on the tables, for which it waits 20 ms at most: whoever comes after it
--          stands in line behind it.
-- Index:   none.
-- Answers: whether it did; false when somebody reads one of them: a later step has to try again.
CREATE OR REPLACE FUNCTION slipring.tables_empty(p_tables text)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('lock_timeout', '20ms', true);
    EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', p_tables);
    EXECUTE format('TRUNCATE %s', p_tables);
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END $$;
