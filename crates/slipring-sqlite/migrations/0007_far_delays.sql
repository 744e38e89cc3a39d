-- Purpose: messages with far delays stand in slots of a timing wheel, not in their exact order.
-- Inputs: none
-- Lock: the write lock, held by the transaction
-- Index: none
--
-- Of a delayed item in a slot, turn is 2^62 plus the first moment of the slot, and due_ms is when
-- the delay ends; all others have NULL. Items that were delayed before keep their exact turn. The
-- column stands behind the body: it has a value only where the body is so small that it is within
-- the row's own page, and to see that there is none takes no more than the head of the row.
ALTER TABLE item ADD COLUMN due_ms INTEGER;
