-- Purpose: moves a batch that failed for good to pgmq's archive; answers the ids that were there.
-- Inputs: $1 the queue, $2 ids.
-- Lock: the rows moved.
-- Index: the primary key of the queue's table.
SELECT pgmq.archive($1::text, $2::bigint[])
