-- Purpose: the table in memory whose numbers are the tickets of a pop.
-- Inputs: none.
-- Lock: of a new table.
-- Index: the primary key.
CREATE TABLE pop_identity (
    ticket bigint NOT NULL AUTO_INCREMENT PRIMARY KEY
) ENGINE = MEMORY
