-- Purpose: the one row of a new store
-- Inputs: ?1 receipt_key
-- Lock: the write lock, held by the transaction
-- Index: primary key of store
INSERT INTO store (id, receipt_key, next_queue, next_lane, last_sent) VALUES (1, ?1, 1, 0, 0)
