-- Purpose: how often the lock of queues was held by what changes their state, and the flushes of
--   the log so far.
-- Inputs: none.
-- Lock: none.
-- Index: none.
SELECT (SELECT count(*) FROM slipring.state), (SELECT wal_sync FROM pg_stat_wal),
    pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint
