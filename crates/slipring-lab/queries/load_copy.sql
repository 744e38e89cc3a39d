-- Purpose: the baseline of a bulk load: all rows in one transaction.
-- Inputs: rows of a body as bytea text.
-- Lock: ROW EXCLUSIVE on the table.
-- Index: the primary key grows.
COPY indexed (body) FROM STDIN
