-- Purpose: the queue table that the ring replaced: a new message goes to the right edge of the key.
-- Inputs: none.
-- Lock: of a new table.
-- Index: makes the primary key.
CREATE TABLE ring (
    slot bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    message_id bigint NOT NULL,
    sent_at timestamptz NOT NULL,
    message char(300) NOT NULL
)
