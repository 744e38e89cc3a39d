-- Purpose: takes the next number for a lane; none is used twice
-- Inputs: none
-- Lock: the write lock, held by the transaction
-- Index: primary key of store
UPDATE store SET next_lane = next_lane + 1 WHERE id = 1 RETURNING next_lane - 1
