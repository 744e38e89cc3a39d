-- Purpose: locks tables before they are emptied, or to find out that no transaction reads them.
-- Inputs:  p_tables, their names, ready for a statement; p_wait_ms, how long it waits at most, 0 to try
--          only. Transactions that want the tables while it waits, wait behind it.
-- Lock:    ACCESS EXCLUSIVE on the tables, to the end of the transaction.
-- Index:   none.
-- Answers: whether this transaction has the locks; false when another one is in one of the tables.
CREATE OR REPLACE FUNCTION slipring.tables_lock(p_tables text, p_wait_ms int DEFAULT 0)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF p_wait_ms > 0 THEN
        PERFORM slipring.in_turn(p_wait_ms, p_wait_ms);
    END IF;
    EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE %s', p_tables,
        CASE WHEN p_wait_ms = 0 THEN 'NOWAIT' END);
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END $$;
