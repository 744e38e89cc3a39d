-- Purpose: writes back how far a lane has been handed out
-- Inputs: ?1 lane_id, ?2 tail_seq, ?3 tail_bytes, ?4 cursor_seq, ?5 cursor_bytes, ?6 holes, ?7
--   hole_bytes, ?8 leased, ?9 leased_bytes
-- Lock: the write lock, held by the transaction
-- Index: primary key of lane
UPDATE lane
SET tail_seq = ?2, tail_bytes = ?3, cursor_seq = ?4, cursor_bytes = ?5, holes = ?6, hole_bytes = ?7,
    leased = ?8, leased_bytes = ?9
WHERE lane_id = ?1
