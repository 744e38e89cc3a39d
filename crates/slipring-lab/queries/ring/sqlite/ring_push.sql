-- Purpose: a push: fills a slot when it is free.
-- Inputs: ?1 the slot, ?2 the lap, ?3 the number of the message, ?4 the time, ?5 the message.
-- Lock: the file.
-- Index: the key.
UPDATE ring SET message_id = ?3, sent_at = ?4, message = ?5, reference_count = 1
WHERE slot = ?1 AND reference_count = 0 AND lap = ?2
