-- Purpose: the tables of awa that hold rows, with their schema; not their partitioned parents.
-- Inputs: none.
-- Lock: none.
-- Index: none of ours.
SELECT n.nspname || '.' || c.relname
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = 'awa' AND c.relkind = 'r'
ORDER BY c.relname
