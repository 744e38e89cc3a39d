-- Purpose: transactions of others that hold the store up: they have the lock of a queue, or have written and are open for
--   long, or are prepared; and replication slots that keep old row versions. Of a session that this role may not look into
--   neither age nor statement is known: it is named only if it has a lock. Those that have written count in any database
--   of the server
-- Inputs: $1 age_ms from which on a lock is long held, $2 age_ms from which on a transaction is long open, $3 the same in
--   another database
-- Lock: none
-- Index: none; reads all locks of the database server once
WITH own AS MATERIALIZED (
  SELECT d.oid AS database, current_setting('application_name') AS application,
    pg_snapshot_xmax(pg_current_snapshot())::text::int8 AS xid
  FROM pg_database d WHERE d.datname = current_database()
), locks AS MATERIALIZED (
  SELECT l.* FROM pg_locks l
  WHERE l.granted AND l.pid IS DISTINCT FROM pg_backend_pid()
    AND (l.locktype = 'transactionid' OR l.database = (SELECT database FROM own))
), written AS MATERIALIZED (
  -- Whole numbers of transactions, of which locks show the lower half.
  SELECT l.virtualtransaction, l.pid, l.transactionid, own.xid
    + (l.transactionid::text::int8 - own.xid % 4294967296 + 6442450944) % 4294967296 - 2147483648 AS xid
  FROM locks l CROSS JOIN own WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock'
), held AS (
  SELECT l.pid, l.virtualtransaction, substr(c.relname, 6)::int AS queue
  FROM locks l JOIN pg_class c ON c.oid = l.relation
  WHERE l.locktype = 'relation' AND c.relnamespace = 'slipring'::regnamespace AND c.relname ~ '^lock_[0-9]+$'
    AND l.mode NOT IN ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock')
  UNION
  -- The queues that share tables, see functions/queues/lock_row_class.sql.
  SELECT l.pid, l.virtualtransaction, l.objid::int8::int
  FROM locks l JOIN written w USING (virtualtransaction) CROSS JOIN slipring.store s
  WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.objid::int8 < 2147483648
    AND l.classid = (hashtextextended('row' || encode(s.receipt_key, 'hex'), w.xid) >> 32)::int::oid
), session AS MATERIALIZED (
  SELECT a.pid, a.usename, a.application_name, a.backend_type,
    CASE WHEN a.datid <> own.database THEN a.datname END AS elsewhere,
    a.state || CASE WHEN a.state = 'active' AND a.wait_event IS NOT NULL THEN ', waits for ' || a.wait_event ELSE '' END
      AS doing,
    a.state = 'active' AND a.application_name = own.application AND a.usename = current_user
      AND a.wait_event_type IS DISTINCT FROM 'Client' AS ours,
    (extract(epoch FROM clock_timestamp() - a.xact_start) * 1000)::int8 AS age_ms,
    -- Statements of other databases are not shown.
    CASE WHEN a.datid = own.database AND (pg_has_role(a.usesysid, 'USAGE') OR pg_has_role('pg_read_all_stats', 'USAGE'))
      THEN left(regexp_replace(a.query, '\s+', ' ', 'g'), 200) END AS statement
  FROM pg_stat_activity a CROSS JOIN own WHERE a.datid IS NOT NULL
), prepared AS MATERIALIZED (
  SELECT w.virtualtransaction, x.gid, x.owner,
    (extract(epoch FROM clock_timestamp() - x.prepared) * 1000)::int8 AS age_ms,
    CASE WHEN x.database <> current_database() THEN x.database END AS elsewhere
  FROM pg_prepared_xacts x LEFT JOIN written w ON w.pid IS NULL AND w.transactionid = x.transaction
)
(SELECT 'queue_held' AS kind, q.name AS queue, h.pid, p.gid AS name, coalesce(a.usename, p.owner)::text AS role,
  a.application_name AS application, CASE WHEN p.gid IS NULL THEN a.doing ELSE 'prepared' END AS state,
  abs(coalesce(a.age_ms, p.age_ms)) AS for_ms, a.statement, h.virtualtransaction AS transaction, NULL::int8 AS behind,
  NULL::text AS database
FROM held h
JOIN slipring.queue q ON q.queue_id = h.queue
LEFT JOIN session a ON a.pid = h.pid
LEFT JOIN prepared p ON h.pid IS NULL AND p.virtualtransaction = h.virtualtransaction
WHERE coalesce(a.age_ms, p.age_ms, $1) >= $1 AND NOT coalesce(a.ours, false)
ORDER BY for_ms DESC NULLS LAST LIMIT 100)
UNION ALL
(SELECT DISTINCT 'open_writer', NULL, a.pid, NULL, a.usename::text, a.application_name, a.doing, a.age_ms, a.statement,
  w.virtualtransaction, NULL::int8, a.elsewhere::text
FROM session a JOIN written w ON w.pid = a.pid
WHERE a.age_ms >= CASE WHEN a.elsewhere IS NULL THEN $2 ELSE $3 END AND a.backend_type = 'client backend'
ORDER BY a.age_ms DESC NULLS LAST LIMIT 100)
UNION ALL
(SELECT 'prepared_transaction', NULL, NULL, p.gid, p.owner::text, NULL, 'prepared', p.age_ms, NULL, p.virtualtransaction, NULL,
  p.elsewhere::text
FROM prepared p WHERE p.age_ms >= CASE WHEN p.elsewhere IS NULL THEN $2 ELSE $3 END
ORDER BY p.age_ms DESC LIMIT 100)
UNION ALL
(SELECT 'replication_slot', NULL, s.active_pid, s.slot_name::text, NULL, NULL,
  CASE WHEN s.active THEN 'active' ELSE 'not active' END, NULL, NULL, NULL,
  greatest(age(s.xmin), age(s.catalog_xmin))::int8, NULL
FROM pg_replication_slots s
WHERE (s.xmin IS NOT NULL OR s.catalog_xmin IS NOT NULL) AND coalesce(s.database = current_database(), true)
LIMIT 100)
