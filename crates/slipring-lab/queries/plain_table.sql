-- Purpose: a table of the same row as a message of ours, for a plain INSERT beside a send.
-- Inputs: none.
-- Lock: of a new table.
-- Index: makes one on (priority, id), as a partition of messages has.
CREATE TABLE IF NOT EXISTS plain (
    place int NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    sent_ms bigint NOT NULL,
    priority bigint NOT NULL,
    bytes int NOT NULL,
    delay_ms bigint,
    lease_ms bigint,
    group_name text,
    dedup_id text,
    headers text,
    body bytea NOT NULL
);
CREATE INDEX IF NOT EXISTS plain_order ON plain (priority, id);
