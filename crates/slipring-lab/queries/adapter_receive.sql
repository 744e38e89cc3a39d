-- Purpose: receives a batch by our interface for users of SQL. A receive need not outlast the
--   server: its commit does not wait for the flush, as docs/stores/postgres-sql.md says.
-- Inputs: $1 the queue, $2 how many, $3 milliseconds of the lease.
-- Lock: the queue's, for the length of the transaction.
-- Index: that of the queue's messages.
SELECT receipt, body, priority, attempts
FROM (SELECT set_config('synchronous_commit', 'off', true)) AS not_flushed,
    slipring.receive($1::text, $2::int, $3::bigint * interval '1 ms')
