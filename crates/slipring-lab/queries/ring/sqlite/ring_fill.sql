-- Purpose: makes one slot.
-- Inputs: ?1 the slot, ?2 the number of its message or null, ?3 the time, ?4 the message.
-- Lock: the file.
-- Index: the key.
INSERT INTO ring VALUES (?1, 0, ?2, ?3, ?4, ?2 IS NOT NULL)
