-- Purpose: the next ticket of a push, from a table's automatic number.
-- Inputs: none.
-- Lock: the file.
-- Index: the key.
INSERT INTO push_identity DEFAULT VALUES
