-- Purpose: the ring of ready-made slots, as published, with one column more: the lap, so that a
--          slot hands out its messages in their order.
-- Inputs: none.
-- Lock: of a new table.
-- Index: makes the primary key, in which the rows are.
CREATE TABLE ring (
    slot bigint NOT NULL PRIMARY KEY,
    lap bigint NOT NULL,
    message_id bigint,
    sent_at datetime(6) NOT NULL,
    message varchar(300) CHARACTER SET ascii NOT NULL,
    reference_count int NOT NULL
) ENGINE = InnoDB
