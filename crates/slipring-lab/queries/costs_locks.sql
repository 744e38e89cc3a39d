-- Purpose: how many locks a dump of this database holds at this moment.
-- Inputs: none.
-- Lock: none.
-- Index: none.
SELECT count(*) FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
WHERE a.application_name = 'pg_dump' AND a.datname = current_database()
