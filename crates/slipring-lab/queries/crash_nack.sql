-- Purpose: gives one message back.
-- Inputs: $1 the receipt, $2 the delay in ms.
-- Lock: see functions/api/nack.sql of the store.
-- Index: see functions/api/nack.sql of the store.
SELECT slipring.nack($1::text, $2::bigint * interval '1 ms')
