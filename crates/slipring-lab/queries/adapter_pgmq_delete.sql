-- Purpose: acks a batch by pgmq; answers the ids that were there.
-- Inputs: $1 the queue, $2 ids.
-- Lock: the rows deleted.
-- Index: the primary key of the queue's table.
SELECT pgmq.delete($1::text, $2::bigint[])
