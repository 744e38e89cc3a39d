-- Purpose: makes queues that stay idle.
-- Inputs: $1 the number of the first, $2 of the last.
-- Lock: the catalogue's.
-- Index: that of the queues' names.
SELECT count(*) FILTER (WHERE slipring.create_queue('other-' || number))
FROM generate_series($1::bigint, $2::bigint) AS number
