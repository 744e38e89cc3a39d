-- Purpose: who waits for a lock, which one, since when, and who is in the way (0 stands for a
--          prepared transaction).
-- Inputs: none.
-- Lock: none.
-- Index: none.
SELECT l.pid,
       l.locktype,
       l.mode,
       CASE
           WHEN l.relation IS NULL THEN ''
           WHEN l.database = d.oid THEN l.relation::regclass::text
           ELSE 'relation ' || l.relation || ' of another database'
       END AS relation,
       pg_blocking_pids(l.pid) AS blockers,
       coalesce(extract(epoch FROM clock_timestamp() - l.waitstart), 0)::float8 AS seconds
FROM pg_locks AS l, pg_database AS d
WHERE NOT l.granted AND l.pid IS NOT NULL AND d.datname = current_database()
