-- Purpose: brings an item into another state or queue
-- Inputs: ?1 id, ?2 queue_id, ?3 state, ?4 turn, ?5 priority, ?6 attempts, ?7 fence, ?8
--   first_received_ms, ?9 delay_ms, ?10 session, ?11 fifo_group_id, ?12 source
-- Lock: the write lock, held by the transaction
-- Index: primary key of item
UPDATE item
SET queue_id = ?2, state = ?3, turn = ?4, priority = ?5, attempts = ?6, fence = ?7,
    first_received_ms = ?8, delay_ms = ?9, session = ?10, fifo_group_id = ?11, source = ?12,
    due_ms = NULL
WHERE id = ?1
