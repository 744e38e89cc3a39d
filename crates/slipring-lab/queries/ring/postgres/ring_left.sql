-- Purpose: the messages that are still in the ring: their number, and that in their text.
-- Inputs: none.
-- Lock: none.
-- Index: none.
SELECT message_id, left(message, 20)::bigint FROM ring WHERE reference_count > 0
