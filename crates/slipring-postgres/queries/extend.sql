-- Purpose: prolongs leases, entry by entry; the commit does not wait for the flush (S1.4)
-- Inputs: $1 queue, $2 now_ms, $3 messages, $4 fences, $5 leases_ms, $6 take_up;
--   $7 wait_ms, see functions/store/in_turn.sql; $8 waited_ms, in earlier tries
-- Lock: the queue's, see functions/store/store_extend.sql
-- Index: see functions/store/store_extend.sql
SELECT e.deadline_ms::int8, e.error, e.error_message, e.error_context::jsonb
FROM (SELECT set_config('synchronous_commit', 'off', true)) AS not_flushed,
  slipring.store_extend(slipring.in_turn($1, $7), $2, $3, $4, $5, $6, $8) AS e
ORDER BY e.ord
