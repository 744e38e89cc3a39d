-- Purpose: the group that a message was sent with
-- Inputs: ?1 id
-- Lock: none
-- Index: primary key of item
SELECT group_name FROM item WHERE id = ?1
