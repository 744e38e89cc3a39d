-- Purpose: sends a batch by PgQ.
-- Inputs: $1 the queue, $2 bodies.
-- Lock: rows of its own.
-- Index: that of the event table on ev_txid.
SELECT count(pgq.insert_event($1::text, 'lab', body)) FROM unnest($2::text[]) AS body
