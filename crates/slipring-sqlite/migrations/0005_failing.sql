-- Purpose: counts how many deliveries of a queue went past messages that failed again and again.
-- Inputs: none
-- Lock: the write lock, held by the transaction
-- Index: none
--
-- The turn of an item that is ready is from now on its priority, and above 32 bits its standing: 0
-- untried, 1 with one to three attempts, 2 with more. Items that were ready before keep their turn
-- until they are handed out the next time.
ALTER TABLE item_count ADD COLUMN passed_over INTEGER NOT NULL DEFAULT 0;
