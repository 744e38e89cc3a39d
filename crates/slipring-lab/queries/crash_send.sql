-- Purpose: sends one message with whatever the crash test gives it, inside a transaction.
-- Inputs: $1 the queue, $2 the body, $3 the delay in ms, 0 for none, $4 group and $5 deduplication
--   id, or null.
-- Lock: none that anybody waits for, but the entry of a deduplication id.
-- Index: that of the queue's messages.
SELECT slipring.send($1::text, $2::bytea, delay => nullif($3::bigint, 0) * interval '1 ms',
    "group" => $4::text, dedup_id => $5::text)
