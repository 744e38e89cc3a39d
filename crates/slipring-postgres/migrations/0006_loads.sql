-- Purpose: loads: messages that are appended in parts and become ready together.
-- Inputs:  none.
-- Lock:    none but the catalogue's.
-- Index:   load_queue for the open loads of a queue.
--
-- What administration writes: some rows for each load. The messages themselves are in the log, with
-- numbers that were taken out of all lanes of their queue before; the publication puts these back.

CREATE TABLE slipring.load (
    load_id int PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    queue_id int NOT NULL,
    published boolean NOT NULL DEFAULT false,
    begun_ms bigint NOT NULL,
    -- Of an open load the begin, and of a published one the publication.
    touched_ms bigint NOT NULL,
    -- Of a published load.
    parts bigint NOT NULL DEFAULT 0,
    messages bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0
);

CREATE INDEX load_queue ON slipring.load (queue_id);

-- The numbers of an open load: those of a transaction that has sent nothing, for sixteen parts.
CREATE TABLE slipring.load_block (
    load_id int NOT NULL,
    -- The parts from block * 16 on.
    block bigint NOT NULL,
    -- The first number; null only within the transaction that takes it.
    base bigint,
    PRIMARY KEY (load_id, block)
);

CREATE TABLE slipring.load_part (
    load_id int NOT NULL,
    part bigint NOT NULL,
    messages int NOT NULL,
    bytes bigint NOT NULL,
    -- What the caller has made of the content.
    checksum bigint NOT NULL,
    appended_ms bigint NOT NULL,
    -- Of each lane of its messages: how many there are, and their bytes.
    lanes bigint[] NOT NULL,
    counts bigint[] NOT NULL,
    sizes bigint[] NOT NULL,
    PRIMARY KEY (load_id, part)
);
