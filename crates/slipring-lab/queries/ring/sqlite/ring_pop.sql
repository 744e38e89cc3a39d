-- Purpose: a pop: empties a slot when it has a message.
-- Inputs: ?1 the slot, ?2 the lap.
-- Lock: the file.
-- Index: the key.
UPDATE ring SET message_id = NULL, reference_count = 0, lap = lap + 1
WHERE slot = ?1 AND reference_count > 0 AND lap = ?2
RETURNING message
