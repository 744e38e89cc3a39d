-- Purpose: the ring of ready-made slots, as published, with one column more: the lap, so that a
--          slot hands out its messages in their order. Pages have room for the new version of
--          some rows, so that the index need not change.
-- Inputs: none.
-- Lock: of a new table.
-- Index: the primary key, made when the table is filled.
CREATE TABLE ring (
    slot bigint NOT NULL,
    lap bigint NOT NULL,
    message_id bigint,
    sent_at timestamptz NOT NULL,
    message char(300) NOT NULL,
    reference_count int NOT NULL
) WITH (fillfactor = 80)
