-- Purpose: one step of retiring tables whose messages are all done: whether it did one, and the queue
--   to go on after, null when no other is left. The commit does not wait for the flush: a crash
--   undoes the last steps, and they are done again
-- Inputs: $1 which tables, $2 now_ms, $3 bytes and $4 age in ms from which a table is closed, $5 the
--   queue to go on after, 0 for all
-- Lock: a queue's, which is tried, see functions/store/store_rotate.sql
-- Index: see functions/store/store_rotate.sql
SELECT r.done, r.after::int8
FROM (SELECT set_config('synchronous_commit', 'off', true)) AS not_flushed,
  slipring.store_rotate($1, $2, $3, $4, $5) AS r
