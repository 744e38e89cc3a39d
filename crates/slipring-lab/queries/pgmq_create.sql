-- Purpose: makes a pgmq queue, unless it is there: making it again would wait for its readers.
-- Inputs: $1 the queue.
-- Lock: of the new tables.
-- Index: none.
SELECT pgmq.create($1::text)
WHERE NOT EXISTS (SELECT FROM pgmq.meta WHERE queue_name = $1::text)
