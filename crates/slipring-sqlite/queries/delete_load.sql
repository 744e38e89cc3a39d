-- Purpose: removes a load; its messages are cleared away later, where it has any
-- Inputs: ?1 load_id
-- Lock: the write lock, held by the transaction
-- Index: primary key of load
DELETE FROM load WHERE load_id = ?1
