-- Purpose: the queue table that the ring replaced: a new message goes to the right edge of the key.
-- Inputs: none.
-- Lock: of a new table.
-- Index: the key is the order of the rows.
CREATE TABLE ring (
    slot integer PRIMARY KEY,
    message_id integer NOT NULL,
    sent_at integer NOT NULL,
    message text NOT NULL
)
