-- Purpose: the deadlocks that the server has ended in this database.
-- Inputs: none.
-- Lock: none.
-- Index: none; it reads the statistics of the server.
SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()
