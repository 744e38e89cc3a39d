-- Purpose: what every process of the server is doing at this moment, but those of this tool.
-- Inputs: none.
-- Lock: none.
-- Index: none.
SELECT a.pid,
       a.backend_type,
       a.state,
       a.wait_event_type,
       a.wait_event,
       coalesce(a.application_name, '') AS application,
       coalesce(a.usename::text, '') AS role,
       left(a.query, 400) AS query,
       a.query_id
FROM pg_stat_activity AS a
WHERE a.pid <> pg_backend_pid() AND a.application_name IS DISTINCT FROM 'slipring-lab waits'
