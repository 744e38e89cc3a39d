-- Purpose: how many dead letters there are in awa.
-- Inputs: none.
-- Lock: none.
-- Index: none; it reads the table.
SELECT count(*) FROM awa.dlq_entries
