-- Purpose: creates an empty lane
-- Inputs: ?1 lane_id, ?2 queue_id, ?3 priority or null
-- Lock: the write lock, held by the transaction
-- Index: primary key of lane
INSERT INTO lane (lane_id, queue_id, priority, tail_seq, tail_bytes, cursor_seq, cursor_bytes, holes,
    hole_bytes, leased, leased_bytes)
VALUES (?1, ?2, ?3, 0, 0, 0, 0, 0, 0, 0, 0)
