-- Purpose: the messages that are still there: their number, and that in their text.
-- Inputs: none.
-- Lock: none.
-- Index: none.
SELECT message_id, CAST(LEFT(message, 20) AS SIGNED) FROM ring
