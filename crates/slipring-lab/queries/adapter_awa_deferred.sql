-- Purpose: how many jobs of awa wait for another attempt.
-- Inputs: $1 the queue.
-- Lock: none.
-- Index: none; it reads the table, which holds only what waits.
SELECT count(*) FROM awa.deferred_jobs WHERE queue = $1 AND state = 'retryable'
