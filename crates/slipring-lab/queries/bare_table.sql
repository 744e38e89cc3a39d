-- Purpose: the raw limit of sends without an index.
-- Inputs: none.
-- Lock: of a new table.
-- Index: none.
CREATE TABLE IF NOT EXISTS bare (
    sent_at timestamptz NOT NULL DEFAULT now(),
    body bytea NOT NULL
)
