-- Purpose: adds the item of a message that is sent
-- Inputs: ?1 id, ?2 queue_id, ?3 state, ?4 turn, ?5 sent, ?6 priority, ?7 delay_ms, ?8 lease_ms, ?9
--   bytes, ?10 fifo_group_id, ?11 group_name, ?12 dedup_id, ?13 headers, ?14 body,
--   ?15 due_ms
-- Lock: the write lock, held by the transaction
-- Index: primary key of item
INSERT INTO item (id, queue_id, state, turn, sent, priority, attempts, fence, delay_ms, lease_ms,
    session, bytes, fifo_group_id, group_name, dedup_id, headers, body, due_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, 0, ?7, ?8, 0, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
