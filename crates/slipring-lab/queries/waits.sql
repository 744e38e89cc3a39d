-- Purpose: what the backends of a database are doing at this moment.
-- Inputs: $1 the database.
-- Lock: none.
-- Index: none.
SELECT coalesce(wait_event_type || ':' || wait_event, 'CPU'), count(*)
FROM pg_stat_activity
WHERE datname = $1::text AND backend_type = 'client backend' AND state = 'active'
GROUP BY 1
