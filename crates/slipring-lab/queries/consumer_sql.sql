-- Purpose: receives a batch by our interface for users of SQL, inside a transaction of the
--   consumer's, whose commit waits for its flush.
-- Inputs: $1 the queue, $2 how many.
-- Lock: the messages handed out, to the commit.
-- Index: that of the queue's messages.
SELECT receipt, body FROM slipring.receive($1::text, $2::int, interval '30 s')
