-- Purpose: receives messages, and how often each has been handed out.
-- Inputs: $1 the queue, $2 how many, $3 the lease in ms.
-- Lock: the queue's, for the length of the transaction.
-- Index: that of the queue's messages.
SELECT receipt, body, attempts
FROM slipring.receive($1::text, $2::int, $3::bigint * interval '1 ms')
