-- Purpose: whether nobody reads a table of a generation that was let go, be it empty: the next
--          generation must not begin before, see generations_enter.
-- Inputs:  p_table, its name without slot; p_generation.
-- Lock:    ACCESS EXCLUSIVE on the table, which is only tried, to the end of the transaction.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.table_unread(p_table text, p_generation bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('LOCK TABLE slipring.%s_%s IN ACCESS EXCLUSIVE MODE NOWAIT', p_table,
        p_generation % 3);
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END $$;
