-- Purpose: sends one message by our interface for users of SQL.
-- Inputs: $1 the queue, $2 the body.
-- Lock: none that anybody waits for.
-- Index: that of the queue's messages.
SELECT slipring.send($1::text, $2::bytea)
