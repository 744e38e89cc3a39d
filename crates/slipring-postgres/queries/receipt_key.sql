-- Purpose: the key that seals receipts, and in which cluster the store has worked so far
-- Inputs: none
-- Lock: none
-- Index: none, a table of one row
SELECT receipt_key, system_identifier::int8, slipring.store_system_identifier()::int8
FROM slipring.store
