-- Purpose: takes the next tickets; answers the first of them.
-- Inputs: ?1 the name, ?2 how many.
-- Lock: the file.
-- Index: the primary key.
UPDATE sequence SET next = next + ?2 WHERE name = ?1 RETURNING next - ?2
