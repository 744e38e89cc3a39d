-- Purpose: gives back what failed, and answers what has become of each. What a crash forgets of it
--   comes when its lease is over: the commit does not wait for the flush.
-- Inputs: $1 receipts, $2 milliseconds until they come again; null for the queue's backoff.
-- Lock: see functions/api/nack.sql of the store.
-- Index: see functions/api/nack.sql of the store.
SELECT slipring.nack($1::text[], $2::bigint * interval '1 ms')
FROM (SELECT set_config('synchronous_commit', 'off', true)) AS not_flushed
