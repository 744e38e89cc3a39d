-- Purpose: the queue table that the ring replaced: a new message goes to the right edge of the key.
-- Inputs: none.
-- Lock: of a new table.
-- Index: makes the primary key, in which the rows are.
CREATE TABLE ring (
    slot bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    message_id bigint NOT NULL,
    sent_at datetime(6) NOT NULL,
    message varchar(300) CHARACTER SET ascii NOT NULL
) ENGINE = InnoDB
