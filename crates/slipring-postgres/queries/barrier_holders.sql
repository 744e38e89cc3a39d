-- Purpose: who has the table of the queues: sessions by their process number, and prepared transactions
-- Inputs: none
-- Lock: none
-- Index: none
SELECT coalesce(string_agg(DISTINCT CASE WHEN l.pid IS NOT NULL
    THEN format('process %s (%s)', l.pid, coalesce(a.usename, '?'))
    ELSE format('prepared transaction %L', x.gid) END, ', '), 'nobody any more')
FROM pg_locks l
LEFT JOIN pg_stat_activity a ON a.pid = l.pid
LEFT JOIN pg_locks t ON l.pid IS NULL AND t.pid IS NULL AND t.virtualtransaction = l.virtualtransaction
  AND t.locktype = 'transactionid' AND t.mode = 'ExclusiveLock'
LEFT JOIN pg_prepared_xacts x ON x.transaction = t.transactionid
WHERE l.relation = 'slipring.queue'::regclass
  AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
  AND l.granted AND l.pid IS DISTINCT FROM pg_backend_pid()
