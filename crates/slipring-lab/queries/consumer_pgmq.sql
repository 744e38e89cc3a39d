-- Purpose: claims a batch by pgmq for 30 s and looks once, inside a transaction of the consumer's.
-- Inputs: $1 the queue, $2 how many.
-- Lock: the rows claimed, to the commit.
-- Index: that of the queue's table on vt.
SELECT msg_id, convert_to(message #>> '{}', 'UTF8') FROM pgmq.read($1::text, 30, $2::int)
