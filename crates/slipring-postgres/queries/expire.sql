-- Purpose: ends the leases whose deadline has passed; the commit does not wait for the flush
-- Inputs: $1 now_ms, $2 the deadline above which leases may still be open
-- Lock: the queues', one after the other, see functions/store_expire.sql
-- Index: see functions/store_expire.sql
SELECT p.queue::int8, p.ready::int8, p.removed::int8, p.next_ms::int8, p.watermark::int8
FROM (SELECT set_config('synchronous_commit', 'off', true)) AS not_flushed,
  slipring.store_expire($1, $2) AS p
