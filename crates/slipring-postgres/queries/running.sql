-- Purpose: the counts of activity.sql, and which transactions run that are not known to be another
--   database's. A snapshot does not tell the youngest ones, but each holds a lock on its own number,
--   modulo 2^32
-- Inputs: none
-- Lock: none
-- Index: none
SELECT (SELECT COALESCE(sum(pg_sequence_last_value(name::regclass)), 0)::int8
   + ((extract(epoch FROM pg_postmaster_start_time()) * 1000)::int8 << 20)
   FROM (VALUES ('slipring.activity_0'), ('slipring.activity_1'), ('slipring.activity_2'),
    ('slipring.activity_3'), ('slipring.activity_4'), ('slipring.activity_5'),
    ('slipring.activity_6'), ('slipring.activity_7'), ('slipring.activity_8'),
    ('slipring.activity_9'), ('slipring.activity_10'), ('slipring.activity_11'),
    ('slipring.activity_12'), ('slipring.activity_13'), ('slipring.activity_14'),
    ('slipring.activity_15')) AS activity (name)),
  COALESCE(pg_sequence_last_value('slipring.queue_changes'), 0)
   + ((extract(epoch FROM pg_postmaster_start_time()) * 1000)::int8 << 20),
  highest.xid,
  ARRAY(
    SELECT highest.xid
      + (transactionid::text::int8 - highest.xid % 4294967296 + 6442450944) % 4294967296
      - 2147483648
    FROM pg_locks
    WHERE locktype = 'transactionid' AND mode = 'ExclusiveLock' AND granted
      AND NOT EXISTS (
        SELECT FROM pg_stat_get_backend_idset() AS backend (id)
        WHERE pg_stat_get_backend_pid(id) = pg_locks.pid
          AND pg_stat_get_backend_dbid(id) <> here.oid
      )
  )
FROM (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::int8) AS highest (xid),
  (SELECT oid FROM pg_database WHERE datname = current_database()) AS here
