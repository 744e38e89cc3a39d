-- Purpose: what a probe of the store writes over and over.

-- At most one row, written by a check of whether the file can be written. It has nothing to say.
CREATE TABLE probe (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    bytes BLOB NOT NULL
) STRICT;
