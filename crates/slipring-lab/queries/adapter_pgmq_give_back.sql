-- Purpose: makes a batch visible again by pgmq; answers the ids that were there.
-- Inputs: $1 the queue, $2 ids, $3 seconds until then.
-- Lock: the rows changed.
-- Index: the primary key of the queue's table.
SELECT msg_id FROM pgmq.set_vt($1::text, $2::bigint[], $3::int)
