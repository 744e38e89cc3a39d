-- Purpose: sends a batch with a delay by our interface for users of SQL.
-- Inputs: $1 the queue, $2 bodies, $3 how many milliseconds later they are ready.
-- Lock: see functions/api/send_batch.sql of the store.
-- Index: see functions/api/send_batch.sql of the store.
SELECT cardinality(slipring.send_batch($1::text, $2::bytea[], delay => $3::bigint * interval '1 ms'))
