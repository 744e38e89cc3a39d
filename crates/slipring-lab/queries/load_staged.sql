-- Purpose: the publication of a load that copies rows which were staged, all in one transaction.
-- Inputs: none.
-- Lock: ROW EXCLUSIVE on the table.
-- Index: the primary key grows.
INSERT INTO published (body) SELECT body FROM indexed ORDER BY id
