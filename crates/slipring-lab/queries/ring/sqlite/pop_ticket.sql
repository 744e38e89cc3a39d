-- Purpose: the next ticket of a pop, from a table's automatic number.
-- Inputs: none.
-- Lock: the file.
-- Index: the key.
INSERT INTO pop_identity DEFAULT VALUES
