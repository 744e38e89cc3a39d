-- Purpose: whether this transaction has the lock of another queue than this one, so that it must not
--          wait for this one's: another may wait the other way round.
-- Inputs:  p_queue.
-- Lock:    none. Not by a setting, which the caller could change; see lock_row_class.
-- Index:   none: reads all locks of the database server; ask where a lock is not free.
CREATE OR REPLACE FUNCTION slipring.queue_holds_other(p_queue int)
RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT EXISTS (
        SELECT FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
        WHERE l.pid = pg_backend_pid() AND l.granted AND l.mode = 'ShareUpdateExclusiveLock'
            AND c.relnamespace = 'slipring'::regnamespace AND c.relname ~ '^lock_[0-9]+$'
            AND c.relname <> 'lock_' || p_queue)
        OR EXISTS (SELECT FROM slipring.store s CROSS JOIN pg_locks l WHERE l.pid = pg_backend_pid() AND l.granted
            AND l.locktype = 'advisory' AND l.objsubid = 2
            AND l.classid = slipring.lock_row_class(s.receipt_key)::oid AND l.objid::bigint <> p_queue)
$$;
