-- Purpose: the messages that are still in the ring: their number, and that in their text.
-- Inputs: none.
-- Lock: none.
-- Index: none.
SELECT message_id, CAST(LEFT(message, 20) AS SIGNED) FROM ring WHERE reference_count > 0
