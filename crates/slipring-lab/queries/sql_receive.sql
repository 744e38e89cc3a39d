-- Purpose: receives a batch by our interface for users of SQL, under leases of 30 s. A receive need
--   not outlast the server: its commit does not wait for the flush, as docs/stores/postgres.md says.
-- Inputs: $1 the queue, $2 how many.
-- Lock: the queue's, for the length of the transaction.
-- Index: that of the queue's messages.
SELECT receipt, body FROM (SELECT set_config('synchronous_commit', 'off', true)) AS not_flushed,
    slipring.receive($1::text, $2::int, interval '30 s')
