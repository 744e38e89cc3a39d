-- Purpose: the raw limit of sends with one index.
-- Inputs: none.
-- Lock: of a new table.
-- Index: makes the primary key.
CREATE TABLE IF NOT EXISTS indexed (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sent_at timestamptz NOT NULL DEFAULT now(),
    body bytea NOT NULL
)
