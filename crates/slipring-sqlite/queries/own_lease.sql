-- Purpose: the visibility timeout that a message of the log was sent with
-- Inputs: ?1 position
-- Lock: none
-- Index: primary key of message
SELECT lease_ms FROM message WHERE position = ?1
