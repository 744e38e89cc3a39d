-- Purpose: creates a group of a FIFO queue
-- Inputs: ?1 queue_id, ?2 name
-- Lock: the write lock, held by the transaction
-- Index: primary key of fifo_group
INSERT INTO fifo_group (queue_id, name) VALUES (?1, ?2) RETURNING group_id
