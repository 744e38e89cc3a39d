-- Purpose: writes back how far a load is
-- Inputs: ?1 load_id, ?2 state, ?3 parts, ?4 messages, ?5 bytes, ?6 touched_ms
-- Lock: the write lock, held by the transaction
-- Index: primary key of load
UPDATE load
SET state = ?2, parts = ?3, messages = ?4, bytes = ?5, touched_ms = ?6
WHERE load_id = ?1
