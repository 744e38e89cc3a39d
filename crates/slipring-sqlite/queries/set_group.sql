-- Purpose: writes back what a group may give
-- Inputs: ?1 group_id, ?2 change of blocking, ?3 whether its first message is ready, ?4 sent of
--   that, ?5 id of that
-- Lock: the write lock, held by the transaction
-- Index: primary key of fifo_group
UPDATE fifo_group
SET blocking = blocking + ?2,
    head_sent = CASE WHEN ?3 AND blocking + ?2 = 0 THEN ?4 END,
    head_id = CASE WHEN ?3 AND blocking + ?2 = 0 THEN ?5 END
WHERE group_id = ?1
