-- Purpose: gives messages back, to be ready at once; answers what has become of each.
-- Inputs: $1 their receipts.
-- Lock: the queues', to the end of the transaction.
-- Index: see functions/api/nack.sql of the store.
SELECT slipring.nack($1::text[], interval '0')
