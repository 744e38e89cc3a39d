-- Purpose: a push: a row at the right edge.
-- Inputs: ?1 the number of the message, ?2 the time, ?3 the message.
-- Lock: the file.
-- Index: the key, at its last page.
INSERT INTO ring (message_id, sent_at, message) VALUES (?1, ?2, ?3)
