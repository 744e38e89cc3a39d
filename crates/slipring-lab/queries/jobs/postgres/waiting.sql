-- Purpose: how many connections to this database wait for a lock, and how many are in a
--   statement.
-- Inputs: none.
-- Lock: none.
-- Index: none; it reads the activity of the server.
SELECT count(*) FILTER (WHERE wait_event_type = 'Lock'), count(*)
FROM pg_stat_activity
WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()
