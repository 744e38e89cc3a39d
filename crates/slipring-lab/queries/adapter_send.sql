-- Purpose: sends a batch of one priority by our interface for users of SQL.
-- Inputs: $1 the queue, $2 bodies, $3 the priority.
-- Lock: none that anything waits for.
-- Index: that of the queue's messages.
SELECT cardinality(slipring.send_batch($1::text, $2::bytea[], $3::bigint))
