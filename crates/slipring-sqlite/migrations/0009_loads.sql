-- Purpose: loads: messages that are appended in parts and become ready together.
-- Inputs: none
-- Lock: the write lock, held by the transaction
-- Index: load_queue for the open loads of a queue; load_touched for those that nobody goes on with
--
-- The messages of an open load are in the log, in lanes of its own: their queue_id is the number of
-- the load, which no queue has, and becomes that of its queue when the load is published.
CREATE TABLE load (
    load_id INTEGER PRIMARY KEY,
    queue_id INTEGER NOT NULL,
    state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 1),
    parts INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    begun_ms INTEGER NOT NULL,
    touched_ms INTEGER NOT NULL
) STRICT;

CREATE INDEX load_queue ON load (queue_id, state);

CREATE INDEX load_touched ON load (touched_ms);

CREATE TABLE load_part (
    load_id INTEGER NOT NULL,
    part INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (load_id, part)
) STRICT, WITHOUT ROWID;
