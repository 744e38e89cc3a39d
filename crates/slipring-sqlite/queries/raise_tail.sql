-- Purpose: keeps in a lane which of its numbers were given, before the messages go that show it
-- Inputs: ?1 lane_id, ?2 the last number in it that was given
-- Lock: the write lock, held by the transaction
-- Index: primary key of lane
UPDATE lane SET tail_seq = max(tail_seq, ?2) WHERE lane_id = ?1
