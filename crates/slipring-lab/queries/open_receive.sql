-- Purpose: receives under leases that outlast any run.
-- Inputs: $1 the queue, $2 how many.
-- Lock: the messages handed out, to the commit.
-- Index: that of the queue's messages.
SELECT receipt FROM slipring.receive($1::text, $2::int, interval '1 day')
