-- Purpose: takes a batch out by pgmq's pop, inside a transaction of the consumer's: receive and ack in one.
-- Inputs: $1 the queue, $2 how many.
-- Lock: the rows taken out, to the commit.
-- Index: that of the queue's table on vt.
SELECT msg_id, convert_to(message #>> '{}', 'UTF8') FROM pgmq.pop($1::text, $2::int)
