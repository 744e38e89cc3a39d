-- Purpose: waits until somebody has begun to change something. A look costs a tenth of what a
--   statement costs that does nothing else; it takes no transaction number and writes nothing
-- Inputs: $1 the sum of the sequences that was seen last, $2 looks at most, $3 seconds between two
-- Lock: none
-- Index: none
SELECT FROM generate_series(1, $2)
WHERE CASE WHEN $1 <> COALESCE(pg_sequence_last_value('slipring.activity_0'), 0)
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
