-- Purpose: the primary key of a filled ring.
-- Inputs: none.
-- Lock: of the table.
-- Index: makes the primary key.
ALTER TABLE ring ADD PRIMARY KEY (slot)
