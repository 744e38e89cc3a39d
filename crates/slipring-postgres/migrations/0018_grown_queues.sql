-- Purpose: a queue that shares tables and grows gets tables of its own, and gives them back: see decision
--          0045.
-- Inputs:  none.
-- Lock:    ACCESS EXCLUSIVE on queue, place and store, for a moment.
-- Index:   place_move_pkey.

-- A set of tables for one queue at a time, which would share another one otherwise.
ALTER TABLE slipring.place ADD COLUMN reserved boolean NOT NULL DEFAULT false;
-- So many queues that share tables may have a reserved set.
ALTER TABLE slipring.store ADD COLUMN grown_tables_max int NOT NULL DEFAULT 256
    CHECK (grown_tables_max >= 0);
-- A second set in which the queue's messages may be: that to which it moves, or that from which it came.
ALTER TABLE slipring.queue ADD COLUMN place_also int;

-- Queues on their way from one set to another.
CREATE TABLE slipring.place_move (
    queue_id int PRIMARY KEY,
    place_from int NOT NULL,
    -- Null until one is found.
    place_to int,
    -- What is done next, see move_step.
    step smallint NOT NULL DEFAULT 0,
    -- Since when.
    since_ms bigint NOT NULL DEFAULT 0,
    -- Transactions, by their virtual numbers, that are waited for; null until they are known.
    waits text[],
    -- Transactions with lower numbers are waited for after these.
    mark bigint
);
