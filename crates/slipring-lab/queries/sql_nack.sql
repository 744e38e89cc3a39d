-- Purpose: gives back what was received, to come again a little later.
-- Inputs: $1 receipts, $2 how many milliseconds later.
-- Lock: see functions/nack.sql of the store.
-- Index: see functions/nack.sql of the store.
SELECT count(slipring.nack(r, $2::bigint * interval '1 ms')) FROM unnest($1::text[]) r
