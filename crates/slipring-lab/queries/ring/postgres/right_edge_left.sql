-- Purpose: the messages that are still there: their number, and that in their text.
-- Inputs: none.
-- Lock: none.
-- Index: none.
SELECT message_id, left(message, 20)::bigint FROM ring
