-- Purpose: how many other clients are connected to this database. One that has gone has told the
--   statistics of the server what it counted.
-- Inputs: none.
-- Lock: none.
-- Index: none; it reads the activity of the server.
SELECT count(*)
FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend'
    AND pid <> pg_backend_pid()
