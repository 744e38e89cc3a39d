-- Purpose: the next ticket of each kind. A connection takes many at a time.
-- Inputs: none.
-- Lock: of a new table.
-- Index: the primary key.
CREATE TABLE sequence (name text PRIMARY KEY, next integer NOT NULL) WITHOUT ROWID
