-- Purpose: a pop: the first row.
-- Inputs: none.
-- Lock: the file.
-- Index: the key, at its first page.
DELETE FROM ring WHERE slot = (SELECT min(slot) FROM ring) RETURNING message
