-- Purpose: ends the leases of a queue whose deadline has passed; the commit does not wait for the
--   flush
-- Inputs: $1 queue, $2 now_ms; $3 wait_ms, see functions/store/in_turn.sql
-- Lock: the queue's, see functions/store/store_expire_in.sql
-- Index: see functions/store/store_expire_in.sql
SELECT p.queue::int8, p.ready::int8, p.removed::int8, p.next_ms::int8
FROM (SELECT set_config('synchronous_commit', 'off', true)) AS not_flushed,
  slipring.store_expire_in(slipring.in_turn($1, $3), $2) AS p
