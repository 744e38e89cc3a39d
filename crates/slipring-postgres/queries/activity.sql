-- Purpose: how often anybody has begun to change something, read outside MVCC, and which
--   transactions run. It takes no transaction number and writes nothing
-- Inputs: none
-- Lock: none
-- Index: none
SELECT COALESCE(pg_sequence_last_value('slipring.activity'), 0)::int8,
  ARRAY(SELECT x::text::int8 FROM pg_snapshot_xip(pg_current_snapshot()) AS x)
