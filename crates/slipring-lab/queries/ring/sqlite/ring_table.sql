-- Purpose: the ring of ready-made slots, as published, with one column more: the lap, so that a
--          slot hands out its messages in their order.
-- Inputs: none.
-- Lock: of a new table.
-- Index: the key is the order of the rows.
CREATE TABLE ring (
    slot integer PRIMARY KEY,
    lap integer NOT NULL,
    message_id integer,
    sent_at integer NOT NULL,
    message text NOT NULL,
    reference_count integer NOT NULL
)
