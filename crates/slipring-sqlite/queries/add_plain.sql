-- Purpose: appends a message that has only a body
-- Inputs: ?1 position, ?2 sent, ?3 bytes_sum, ?4 body
-- Lock: the write lock, held by the transaction
-- Index: primary key of message
INSERT INTO message (position, sent, bytes_sum, body) VALUES (?1, ?2, ?3, ?4)
