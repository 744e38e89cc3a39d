-- Purpose: waits until somebody has begun to change something. A look costs a tenth of what a
--   statement costs that does nothing else; it takes no transaction number and writes nothing.
--   While the server writes nothing at all, it does not even look at the sequences: a transaction
--   that moves one ends with a record in the WAL, behind the position from before the first look
-- Inputs: $1 the count that was seen last, see activity, $2 looks at most, $3 seconds between two
-- Lock: none
-- Index: none
SELECT FROM (
  SELECT pg_current_wal_insert_lsn() AS wal,
    $1 - ((extract(epoch FROM pg_postmaster_start_time()) * 1000)::int8 << 20) AS seen
  OFFSET 0
) AS before
-- The step is 1; that it names the position has that be read first, and once.
CROSS JOIN LATERAL generate_series(1, $2, (before.wal IS NOT NULL)::int) AS look
WHERE CASE WHEN (look = 1 OR before.wal <> pg_current_wal_insert_lsn())
  AND before.seen <> COALESCE(pg_sequence_last_value('slipring.activity_0'), 0)
  + COALESCE(pg_sequence_last_value('slipring.activity_1'), 0)
  + COALESCE(pg_sequence_last_value('slipring.activity_2'), 0)
  + COALESCE(pg_sequence_last_value('slipring.activity_3'), 0)
  + COALESCE(pg_sequence_last_value('slipring.activity_4'), 0)
  + COALESCE(pg_sequence_last_value('slipring.activity_5'), 0)
  + COALESCE(pg_sequence_last_value('slipring.activity_6'), 0)
  + COALESCE(pg_sequence_last_value('slipring.activity_7'), 0)
  + COALESCE(pg_sequence_last_value('slipring.activity_8'), 0)
  + COALESCE(pg_sequence_last_value('slipring.activity_9'), 0)
  + COALESCE(pg_sequence_last_value('slipring.activity_10'), 0)
  + COALESCE(pg_sequence_last_value('slipring.activity_11'), 0)
  + COALESCE(pg_sequence_last_value('slipring.activity_12'), 0)
  + COALESCE(pg_sequence_last_value('slipring.activity_13'), 0)
  + COALESCE(pg_sequence_last_value('slipring.activity_14'), 0)
  + COALESCE(pg_sequence_last_value('slipring.activity_15'), 0)
  THEN true ELSE pg_sleep($3)::text IS NULL END
LIMIT 1
