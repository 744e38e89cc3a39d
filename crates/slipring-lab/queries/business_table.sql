-- Purpose: a table of the user's own, written in the transactions that also send.
-- Inputs: none.
-- Lock: of a new table.
-- Index: makes the primary key.
CREATE TABLE IF NOT EXISTS business (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    made_at timestamptz NOT NULL DEFAULT now(),
    amount bigint NOT NULL
)
