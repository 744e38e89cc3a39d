-- Purpose: writes back what a group may give and where it stands in the line
-- Inputs: ?1 group_id, ?2 stamp of a receive that took from it, 0 for none, ?3 whether its first
--   message is ready, ?4 sent of that, ?5 id of that
-- Lock: the write lock, held by the transaction
-- Index: primary key of fifo_group
UPDATE fifo_group
SET served = max(served, ?2),
    turn = CASE WHEN ?3 THEN max(served, ?2, ?4) END,
    head_id = CASE WHEN ?3 THEN ?5 END
WHERE group_id = ?1
