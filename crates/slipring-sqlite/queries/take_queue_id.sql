-- Purpose: takes the next number for a queue; none is used twice
-- Inputs: none
-- Lock: the write lock, held by the transaction
-- Index: primary key of store
UPDATE store SET next_queue = next_queue + 1 WHERE id = 1 RETURNING next_queue - 1
