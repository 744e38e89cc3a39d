-- Purpose: how many bytes of WAL there have been; on a standby, how many it has replayed.
-- Inputs: none.
-- Lock: none.
-- Index: none.
SELECT 'position',
       pg_wal_lsn_diff(
           CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END,
           '0/0'
       )::float8
