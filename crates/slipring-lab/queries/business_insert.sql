-- Purpose: the row of the user's own that a transaction writes beside a message.
-- Inputs: $1 an amount.
-- Lock: the row of its own.
-- Index: adds to the primary key.
INSERT INTO business (amount) VALUES ($1::bigint)
