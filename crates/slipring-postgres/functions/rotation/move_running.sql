-- Purpose: the other transactions of this database that run, by their virtual numbers, which they have from
--          their beginning to their end or until they are prepared.
-- Inputs:  none.
-- Lock:    none; pg_locks takes all locks of the server's lock table for a moment.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.move_running()
RETURNS text[] LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    -- A session that has connected since an earlier look in this transaction counts as well.
    PERFORM pg_stat_clear_snapshot();
    RETURN ARRAY(SELECT l.virtualxid
        FROM pg_stat_activity a JOIN pg_database d ON d.oid = a.datid
        JOIN pg_locks l ON l.pid = a.pid AND l.locktype = 'virtualxid' AND l.granted
        WHERE d.datname = current_database() AND a.pid <> pg_backend_pid());
END $$;
