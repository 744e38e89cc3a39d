-- Purpose: the queue that everybody writes first, with the index it needs and autovacuum at its
--          defaults.
-- Inputs: none.
-- Lock: of a new table.
-- Index: makes one of what is ready, in order, and the primary key.
CREATE TABLE IF NOT EXISTS job (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue text NOT NULL,
    ready boolean NOT NULL DEFAULT true,
    attempts int NOT NULL DEFAULT 0,
    sent_at timestamptz NOT NULL DEFAULT now(),
    leased_until timestamptz,
    body bytea NOT NULL
);
CREATE INDEX IF NOT EXISTS job_ready ON job (queue, id) WHERE ready
