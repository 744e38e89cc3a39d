-- Purpose: how many sessions of others there are in this database, and how many of them this role may not look into
-- Inputs: none
-- Lock: none
-- Index: none
SELECT count(*)::int8,
  count(*) FILTER (WHERE NOT pg_has_role(a.usesysid, 'USAGE') AND NOT pg_has_role('pg_read_all_stats', 'USAGE'))::int8
FROM pg_stat_activity a
WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.usesysid IS NOT NULL
  AND coalesce(a.backend_type, 'client backend') = 'client backend'
