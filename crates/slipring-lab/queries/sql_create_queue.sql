-- Purpose: makes a queue by our interface for users of SQL, unless it is there.
-- Inputs: $1 the queue.
-- Lock: the catalogue's.
-- Index: that of the queues' names.
SELECT slipring.create_queue($1::text)
