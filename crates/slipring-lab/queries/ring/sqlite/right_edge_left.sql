-- Purpose: the messages that are still there: their number, and that in their text.
-- Inputs: none.
-- Lock: none.
-- Index: none.
SELECT message_id, cast(substr(message, 1, 20) AS integer) FROM ring
