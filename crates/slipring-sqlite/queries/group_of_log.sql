-- Purpose: the group that a message of the log was sent with
-- Inputs: ?1 position
-- Lock: none
-- Index: primary key of message
SELECT group_name FROM message WHERE position = ?1
