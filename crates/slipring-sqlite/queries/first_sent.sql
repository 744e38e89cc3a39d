-- Purpose: the next message after a lane's cursor, and when it was sent
-- Inputs: ?1 the cursor, ?2 the tail
-- Lock: none
-- Index: primary key of message
SELECT position, sent FROM message WHERE position > ?1 AND position <= ?2 ORDER BY position LIMIT 1
