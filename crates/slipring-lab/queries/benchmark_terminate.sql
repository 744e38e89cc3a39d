-- Purpose: ends the sessions of a database that are in the middle of something, or one at random
--   where none is; not those of the lab itself.
-- Inputs: $1 the database.
-- Lock: none.
-- Index: none.
WITH session AS (
    SELECT pid, state IN ('active', 'idle in transaction') AS busy
    FROM pg_stat_activity
    WHERE datname = $1::text AND backend_type = 'client backend'
        AND application_name <> 'slipring-lab benchmark'
), chosen AS (
    SELECT pid FROM session WHERE busy
    UNION
    (SELECT pid FROM session WHERE NOT EXISTS (SELECT FROM session WHERE busy) ORDER BY random() LIMIT 1)
)
SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM chosen
