-- Purpose: the key that seals receipts
-- Inputs: none
-- Lock: none
-- Index: primary key of store
SELECT receipt_key FROM store WHERE id = 1
