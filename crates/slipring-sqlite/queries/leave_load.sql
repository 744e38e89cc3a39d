-- Purpose: leaves what a load has, its parts and lanes, to be cleared away like a deleted queue
-- Inputs: ?1 load_id, ?2 now
-- Lock: the write lock, held by the transaction
-- Index: primary key of queue
INSERT INTO queue (queue_id, name, settings, created_ms, modified_ms, fifo, paused, deleted)
VALUES (?1, '', '', ?2, ?2, 0, 0, 1)
