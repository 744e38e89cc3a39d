-- Purpose: the table whose automatic numbers are the tickets of a push.
-- Inputs: none.
-- Lock: of a new table.
-- Index: the key is the order of the rows.
CREATE TABLE push_identity (ticket integer PRIMARY KEY AUTOINCREMENT)
