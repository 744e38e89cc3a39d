-- Purpose: size of this database, how many relations it has, and how many queues.
-- Inputs: none.
-- Lock: none.
-- Index: none.
SELECT pg_database_size(current_database()), (SELECT count(*) FROM pg_class),
       (SELECT count(*) FROM slipring.queue)
