-- Purpose: makes ready what is due; the commit does not wait for the flush
-- Inputs: $1 now_ms, $2 queues to look at, NULL for every one
-- Lock: the queues', one after the other, see functions/store_due.sql
-- Index: see functions/store_due.sql
SELECT p.queue::int8, p.ready::int8, p.removed::int8, p.next_ms::int8, p.watermark::int8
FROM (SELECT set_config('synchronous_commit', 'off', true)) AS not_flushed,
  slipring.store_due($1, $2) AS p
