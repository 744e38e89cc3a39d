-- Purpose: the key that seals receipts, in which cluster the store has worked so far,
--   and whether it was restored from a dump since
-- Inputs: none
-- Lock: none
-- Index: none, a table of one row
SELECT receipt_key, system_identifier::int8, slipring.store_system_identifier()::int8,
  home_at <> written_at
FROM slipring.store
