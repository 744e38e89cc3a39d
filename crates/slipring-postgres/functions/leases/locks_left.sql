-- Purpose: how many more locks this transaction may take: all its advisory ones may be half of what the server
--          has room for, so that they do not run out for all sessions.
-- Inputs:  none.
-- Lock:    none; it reads pg_locks, which takes all locks of the lock table for a moment.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.locks_left()
RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT current_setting('max_locks_per_transaction')::bigint
        * (current_setting('max_connections')::int
            + current_setting('max_prepared_transactions')::int) / 2
        - (SELECT count(*) FROM pg_locks l
            WHERE l.pid = pg_backend_pid() AND l.locktype = 'advisory')
$$;
