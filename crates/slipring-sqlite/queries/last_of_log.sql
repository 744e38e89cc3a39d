-- Purpose: the last message of a lane
-- Inputs: ?1 before the lane's first position, ?2 the lane's last position
-- Lock: none
-- Index: primary key of message
SELECT position, sent, bytes_sum
FROM message
WHERE position > ?1 AND position <= ?2
ORDER BY position DESC
LIMIT 1
