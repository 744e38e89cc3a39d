-- Purpose: lets leases of connections that are gone lapse at once
-- Inputs: ?1 at most so many
-- Lock: the write lock, held by the transaction
-- Index: item_session
UPDATE item
SET turn = CASE state WHEN 2 THEN 0 ELSE turn END, session = 0
WHERE id IN (SELECT id FROM item WHERE session = 1 LIMIT ?1)
