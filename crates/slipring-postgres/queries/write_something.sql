-- Purpose: whether there is room again, asked after a write found none; leaves everything as it is
-- Inputs: none
-- Lock: the row of store
-- Index: none, a table of one row
UPDATE slipring.store SET xid_base = xid_base
