-- Purpose: claims a batch by pgmq, and answers nothing where there is nothing.
-- Inputs: $1 the queue, $2 seconds of the lease, $3 how many.
-- Lock: the rows claimed.
-- Index: that of the queue's table on vt.
SELECT msg_id, message #>> '{}', read_ct FROM pgmq.read($1::text, $2::int, $3::int)
