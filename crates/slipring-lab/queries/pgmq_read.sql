-- Purpose: claims a batch by pgmq for 30 s, waiting for the first message where asked to.
-- Inputs: $1 the queue, $2 how many, $3 seconds to wait, by looks 10 ms apart, as ours and the table's.
-- Lock: the rows claimed.
-- Index: that of the queue's table on vt.
SELECT msg_id, message #>> '{}' FROM pgmq.read_with_poll($1::text, 30, $2::int, $3::int, 10)
