-- Purpose: dead rows, changes and size of all tables of users with their TOAST tables, and the
--          dead rows of the catalogue beside them.
-- Inputs: none.
-- Lock: none.
-- Index: none.
SELECT s.schemaname || '.' || s.relname AS name,
       s.n_dead_tup AS dead,
       s.n_tup_upd + s.n_tup_del AS changed,
       pg_relation_size(s.relid) + pg_indexes_size(s.relid) AS bytes,
       s.schemaname IN ('pg_catalog', 'information_schema')
           OR (s.schemaname = 'pg_toast' AND s.relid < 16384) AS catalogue
FROM pg_stat_all_tables AS s
