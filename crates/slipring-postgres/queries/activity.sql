-- Purpose: how often anybody has begun to change something, and how often the list of queues or a
--   setting, read outside MVCC, and which transactions are over: those below the third column and
--   not in the fourth. It takes no transaction number and writes nothing. The counts are those of
--   this start of this server: what another one had counted, before a failover, may come again
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
