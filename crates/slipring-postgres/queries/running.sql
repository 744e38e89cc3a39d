-- Purpose: how often anybody has begun to change something, and which transactions run that are
--   not known to be another database's. pg_stat_activity shows numbers modulo 2^32
-- Inputs: none
-- Lock: none
-- Index: none
SELECT (SELECT COALESCE(sum(pg_sequence_last_value(name::regclass)), 0)::int8
   FROM (VALUES ('slipring.activity_0'), ('slipring.activity_1'), ('slipring.activity_2'),
    ('slipring.activity_3'), ('slipring.activity_4'), ('slipring.activity_5'),
    ('slipring.activity_6'), ('slipring.activity_7'), ('slipring.activity_8'),
    ('slipring.activity_9'), ('slipring.activity_10'), ('slipring.activity_11'),
    ('slipring.activity_12'), ('slipring.activity_13'), ('slipring.activity_14'),
    ('slipring.activity_15')) AS activity (name)),
  ARRAY(
    SELECT x::text::int8 FROM pg_snapshot_xip(pg_current_snapshot()) AS x
    WHERE x::text::int8 % 4294967296 NOT IN (
      SELECT backend_xid::text::int8 FROM pg_stat_activity
      WHERE backend_xid IS NOT NULL AND datname <> current_database()
    )
  )
