-- Purpose: the table whose automatic numbers are the tickets of a pop.
-- Inputs: none.
-- Lock: of a new table.
-- Index: the key is the order of the rows.
CREATE TABLE pop_identity (ticket integer PRIMARY KEY AUTOINCREMENT)
