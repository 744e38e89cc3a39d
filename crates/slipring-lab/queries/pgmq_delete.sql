-- Purpose: acks a batch by pgmq.
-- Inputs: $1 the queue, $2 ids.
-- Lock: the rows deleted.
-- Index: the primary key of the queue's table.
SELECT count(*) FROM pgmq.delete($1::text, $2::bigint[])
