-- Purpose: dead rows of the declared tables, and rows of them that were ever updated or deleted.
-- Inputs: $1 the tables, with their schemas.
-- Lock: none.
-- Index: none.
SELECT coalesce(sum(n_dead_tup), 0)::bigint, coalesce(sum(n_tup_upd + n_tup_del), 0)::bigint
FROM pg_stat_user_tables
WHERE schemaname || '.' || relname = ANY ($1::text[])
