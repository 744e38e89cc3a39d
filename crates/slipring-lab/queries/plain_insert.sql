-- Purpose: what a user without a queue does inside a transaction: one row, all columns given.
-- Inputs: $1 the body.
-- Lock: the row of its own.
-- Index: adds to plain_order.
INSERT INTO plain (place, sent_ms, priority, bytes, body)
VALUES (4, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, 1024, length($1::bytea), $1)
