-- Purpose: sends a batch by pgmq.
-- Inputs: $1 the queue, $2 bodies as JSON texts.
-- Lock: rows of its own.
-- Index: those of the queue's table.
SELECT count(*) FROM pgmq.send_batch($1::text, $2::text[]::jsonb[])
