-- Purpose: what keeps old row versions from being removed, the oldest first, with its age in
--          transactions.
-- Inputs: none.
-- Lock: none.
-- Index: none.
SELECT p.kind, p.name, p.detail, p.age::int8, p.seconds::float8
FROM (
    SELECT 'session' AS kind,
           'pid ' || a.pid || ' ' || coalesce(a.application_name, '') AS name,
           coalesce(a.state, a.backend_type, 'not visible') || ': ' || left(a.query, 200) AS detail,
           greatest(age(a.backend_xmin), age(a.backend_xid)) AS age,
           extract(epoch FROM clock_timestamp() - a.xact_start) AS seconds
    FROM pg_stat_activity AS a
    WHERE (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
      AND a.pid <> pg_backend_pid()
      AND a.application_name IS DISTINCT FROM 'slipring-lab waits'
    UNION ALL
    SELECT 'prepared transaction', x.gid, 'of ' || x.owner || ' in ' || x.database,
           age(x.transaction), extract(epoch FROM clock_timestamp() - x.prepared)
    FROM pg_prepared_xacts AS x
    UNION ALL
    SELECT 'replication slot', s.slot_name, CASE WHEN s.active THEN 'active' ELSE 'not active' END,
           greatest(age(s.xmin), age(s.catalog_xmin)), NULL
    FROM pg_replication_slots AS s
    WHERE s.xmin IS NOT NULL OR s.catalog_xmin IS NOT NULL
    UNION ALL
    SELECT 'standby', coalesce(r.application_name, ''), coalesce(r.state, 'not visible'),
           age(r.backend_xmin), NULL
    FROM pg_stat_replication AS r
    WHERE r.backend_xmin IS NOT NULL
) AS p
ORDER BY p.age DESC NULLS LAST, p.seconds DESC NULLS LAST
LIMIT 20
