-- Purpose: what others see of a session: whether it is idle in a transaction, how many queues' locks
--          it has, and how many sessions wait for it.
-- Inputs: $1 its process.
-- Lock: none.
-- Index: none.
SELECT a.state = 'idle in transaction',
       (SELECT count(*) FROM pg_locks AS l JOIN pg_class AS c ON c.oid = l.relation
        WHERE l.pid = a.pid AND l.granted AND l.mode = 'ShareUpdateExclusiveLock'
          AND c.relnamespace = 'slipring'::regnamespace AND c.relname ~ '^lock_[0-9]+$'),
       (SELECT count(*) FROM pg_stat_activity AS w WHERE a.pid = ANY (pg_blocking_pids(w.pid)))
FROM pg_stat_activity AS a
WHERE a.pid = $1::int
