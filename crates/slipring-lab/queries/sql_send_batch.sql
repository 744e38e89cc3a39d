-- Purpose: sends a batch by our interface for users of SQL.
-- Inputs: $1 the queue, $2 bodies.
-- Lock: none that anybody waits for.
-- Index: that of the queue's messages.
SELECT cardinality(slipring.send_batch($1::text, $2::bytea[]))
