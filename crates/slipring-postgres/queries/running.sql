-- Purpose: how often anybody has begun to change something, and which transactions run that are
--   not known to be another database's. pg_stat_activity shows numbers modulo 2^32
-- Inputs: none
-- Lock: none
-- Index: none
SELECT COALESCE(pg_sequence_last_value('slipring.activity'), 0)::int8,
  ARRAY(
    SELECT x::text::int8 FROM pg_snapshot_xip(pg_current_snapshot()) AS x
    WHERE x::text::int8 % 4294967296 NOT IN (
      SELECT backend_xid::text::int8 FROM pg_stat_activity
      WHERE backend_xid IS NOT NULL AND datname <> current_database()
    )
  )
