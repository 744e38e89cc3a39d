-- Purpose: appends a part to a load; answers whether it was not there.
-- Inputs: $1 the load, $2 the part, $3 bodies, $4 their priority, one that the queue has.
-- Lock: the load's, shared.
-- Index: see functions/loads/load_append_rows.sql of the store.
SELECT slipring.load_append($1::bigint, $2::bigint, $3::bytea[], priority => $4::bigint)
