-- Purpose: the lanes of a queue by priority, then age
-- Inputs: ?1 queue_id
-- Lock: none
-- Index: lane_queue
SELECT lane_id, priority, tail_seq, tail_bytes, cursor_seq, cursor_bytes, holes, hole_bytes, leased,
    leased_bytes
FROM lane
WHERE queue_id = ?1
ORDER BY priority, lane_id
