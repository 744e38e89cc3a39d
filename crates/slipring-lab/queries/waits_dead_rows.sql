-- Purpose: dead rows of the tables of this database, those with most first.
-- Inputs: none.
-- Lock: none.
-- Index: none.
SELECT s.schemaname || '.' || s.relname AS name,
       s.n_live_tup AS live,
       s.n_dead_tup AS dead,
       s.n_tup_upd + s.n_tup_del AS changed,
       coalesce(greatest(s.last_vacuum, s.last_autovacuum)::timestamp(0)::text, 'never') AS cleaned
FROM pg_stat_all_tables AS s
WHERE s.schemaname <> 'pg_toast' OR s.n_dead_tup > 0
ORDER BY s.n_dead_tup DESC, 1
