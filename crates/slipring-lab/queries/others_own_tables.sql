-- Purpose: how many queues have message tables of their own; those made later share theirs.
-- Inputs: $1 how many.
-- Lock: the row of the store.
-- Index: none.
UPDATE slipring.store SET own_tables_max = $1::int
