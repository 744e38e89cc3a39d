-- Purpose: when the last message was sent before the file was last let go
-- Inputs: none
-- Lock: none
-- Index: primary key of store
SELECT last_sent FROM store WHERE id = 1
