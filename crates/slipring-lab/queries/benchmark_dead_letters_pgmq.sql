-- Purpose: how many messages there are in pgmq's archive.
-- Inputs: none.
-- Lock: none.
-- Index: none; it reads the table.
SELECT count(*) FROM pgmq.a_bench
