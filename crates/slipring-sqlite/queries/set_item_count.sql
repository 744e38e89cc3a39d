-- Purpose: writes back how many items a queue has
-- Inputs: ?1 queue_id, ?2 ready, ?3 urgent, ?4 delayed, ?5 leased, ?6 parked, ?7 bytes, ?8
--   passed_over
-- Lock: the write lock, held by the transaction
-- Index: primary key of item_count
INSERT OR REPLACE INTO item_count (queue_id, ready, urgent, delayed, leased, parked, bytes,
    passed_over)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
