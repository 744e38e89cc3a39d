-- Purpose: keeps when the last message was sent
-- Inputs: ?1 sent
-- Lock: the write lock, held by the transaction
-- Index: primary key of store
UPDATE store SET last_sent = ?1 WHERE id = 1 AND last_sent < ?1
