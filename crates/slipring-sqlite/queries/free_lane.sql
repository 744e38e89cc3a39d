-- Purpose: keeps an empty lane of a deleted queue for the next queue; its numbers go on
-- Inputs: ?1 lane_id
-- Lock: the write lock, held by the transaction
-- Index: primary key of lane
UPDATE lane
SET queue_id = 0, priority = NULL, tail_bytes = 0, cursor_seq = tail_seq, cursor_bytes = 0, holes = 0,
    hole_bytes = 0, leased = 0, leased_bytes = 0
WHERE lane_id = ?1
