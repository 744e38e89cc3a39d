-- Purpose: sends a message with a deduplication id by our interface for users of SQL; answers its
--          number, or that of the first message with the id.
-- Inputs: $1 the queue, $2 the body, $3 the id.
-- Lock: the entry of the id, to the end of the transaction.
-- Index: see functions/log/dedup_enter.sql of the store.
SELECT slipring.send($1::text, $2::bytea, dedup_id => $3::text)
