-- Purpose: the bytes of one message of the log
-- Inputs: ?1 position
-- Lock: none
-- Index: primary key of message
SELECT length(body) + coalesce(extra_bytes, 0) FROM message WHERE position = ?1
