-- Purpose: how many messages a queue holds, claimed ones included.
-- Inputs: $1 the queue.
-- Lock: none.
-- Index: none; it reads the table.
SELECT count(*) FROM job WHERE queue = $1::text
