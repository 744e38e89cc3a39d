-- Purpose: notes in which cluster a new store works; NULL where the server does not say
-- Inputs: none
-- Lock: the row of store
-- Index: none, a table of one row
UPDATE slipring.store SET system_identifier = slipring.store_system_identifier()
WHERE system_identifier IS NULL
