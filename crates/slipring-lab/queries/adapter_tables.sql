-- Purpose: the tables of the store that hold rows, with their schema; not their partitioned parents.
-- Inputs: none.
-- Lock: none.
-- Index: none of ours.
SELECT n.nspname || '.' || c.relname
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = 'slipring' AND c.relkind = 'r'
ORDER BY c.relname
