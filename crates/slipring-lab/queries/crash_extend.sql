-- Purpose: prolongs the lease of one message.
-- Inputs: $1 the receipt, $2 the lease from now on in ms.
-- Lock: see functions/api/extend.sql of the store.
-- Index: see functions/api/extend.sql of the store.
SELECT slipring.extend($1::text, $2::bigint * interval '1 ms')
