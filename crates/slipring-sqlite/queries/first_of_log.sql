-- Purpose: the first message of a lane
-- Inputs: ?1 before the lane's first position, ?2 the lane's last position
-- Lock: none
-- Index: primary key of message
SELECT position FROM message WHERE position > ?1 AND position <= ?2 ORDER BY position LIMIT 1
