-- Purpose: begins a load
-- Inputs: ?1 load_id, ?2 queue_id, ?3 now
-- Lock: the write lock, held by the transaction
-- Index: primary key of load
INSERT INTO load (load_id, queue_id, state, parts, messages, bytes, begun_ms, touched_ms)
VALUES (?1, ?2, 0, 0, 0, 0, ?3, ?3)
