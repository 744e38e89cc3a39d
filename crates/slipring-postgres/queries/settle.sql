-- Purpose: ends leases, entry by entry; the commit does not wait for the flush, see
--   functions/store/commit_defer.sql
-- Inputs: $1 queue, $2 now_ms, $3 messages, $4 fences, $5 kinds, $6 delays_ms, $7 priorities,
--   $8 jitter; runs of ids to ack, $9 from and $10 to below, $11 with their fences;
--   $12 reasons or NULL; $13 wait_ms, see functions/store/in_turn.sql
-- Lock: the queue's, see functions/store/store_settle.sql
-- Index: queue_pkey; see functions/store/store_settle.sql
SELECT s.outcome, s.until_ms::int8, s.target::int8, s.error, s.error_message,
  s.error_context::jsonb, deferred.flush
FROM slipring.commit_defer(
    (SELECT q.relaxed FROM slipring.queue AS q WHERE q.queue_id = $1)) AS deferred (flush),
  slipring.store_settle(slipring.in_turn($1, $13), $2, $3, $4, $5, $6, $7, $8, $9, $10, $11,
    $12) AS s
ORDER BY s.ord
