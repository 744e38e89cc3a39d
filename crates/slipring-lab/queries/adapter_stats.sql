-- Purpose: how many messages of a queue are ready, leased and delayed, for users of SQL.
-- Inputs: $1 the queue.
-- Lock: none.
-- Index: see functions/api/stats.sql of the store.
SELECT ready, leased, delayed FROM slipring.stats($1::text)
