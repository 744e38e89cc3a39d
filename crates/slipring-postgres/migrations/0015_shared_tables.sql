-- Purpose: small queues share tables for their messages: see decision 0042.
-- Inputs:  none.
-- Lock:    ACCESS EXCLUSIVE on queue, place and store.
-- Index:   lock_row_pkey, place_rotation_pkey, place_shared, queue_own.

-- A place may be that of many queues. Its sequences are place_generation_<place>, the generation that
-- is written, and place_low_<place>, the oldest one; its queue_id is 0.
ALTER TABLE slipring.place ADD COLUMN shared boolean NOT NULL DEFAULT false;
-- How many queues share it.
ALTER TABLE slipring.place ADD COLUMN queues int NOT NULL DEFAULT 0;
CREATE INDEX place_shared ON slipring.place (place) WHERE shared;

-- How far the rotation of shared tables is. Not in place: who creates a queue in an open transaction
-- keeps that row.
CREATE TABLE slipring.place_rotation (
    place int PRIMARY KEY REFERENCES slipring.place,
    -- Since when the present generation is written.
    since_ms bigint NOT NULL,
    -- The oldest generation when mark and passed were written. They are of no other: sequences move on
    -- where the transaction that moves them fails.
    generation bigint NOT NULL DEFAULT 0,
    -- Above this transaction nobody writes to the oldest generation only; null until known.
    mark bigint,
    -- The queues up to this number have nothing left in the oldest generation.
    passed int NOT NULL DEFAULT 0
);

-- What is added to a priority to get its lane, so that queues which share tables have different ones:
-- the number of the queue times 2^32; 0 where the tables were made for the queue alone.
ALTER TABLE slipring.queue ADD COLUMN lane_base bigint NOT NULL DEFAULT 0;
-- The sequence of the oldest generation of shared tables, read outside MVCC; null where the queue has
-- tables of its own, and the state says it.
ALTER TABLE slipring.queue ADD COLUMN generation_low regclass;

-- Of very many queues the few that rotate by themselves.
CREATE INDEX queue_own ON slipring.queue (queue_id) WHERE generation_low IS NULL;

-- So many queues have tables of their own; those that are created later share.
ALTER TABLE slipring.store ADD COLUMN own_tables_max int NOT NULL DEFAULT 256
    CHECK (own_tables_max >= 0);

-- Two rows of each queue that shares tables, which are never changed. The lock of the queue is the lock of
-- the first (kind 0). Whoever ends leases otherwise than by ack, and notes it for the whole queue, locks
-- the other one (kind 1): xmax is read outside MVCC, in place of a sequence of the queue.
CREATE TABLE slipring.lock_row (
    queue_id int NOT NULL,
    kind smallint NOT NULL,
    PRIMARY KEY (queue_id, kind)
);
ALTER TABLE slipring.queue ALTER COLUMN endings DROP NOT NULL;
