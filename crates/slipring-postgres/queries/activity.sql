-- Purpose: three answers without a transaction number and without a write. Column 1: a count of all
--   changes that have begun. Column 2: a count of changes of the list of queues and of settings.
--   Columns 3 and 4: a transaction has ended if its number is below column 3 and not in column 4.
--   The counts are sequences, outside MVCC, and those of this start of the server: after a failover
--   a count that the other server had may come again
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
  pg_snapshot_xmax(pg_current_snapshot())::text::int8,
  ARRAY(SELECT x::text::int8 FROM pg_snapshot_xip(pg_current_snapshot()) AS x)
