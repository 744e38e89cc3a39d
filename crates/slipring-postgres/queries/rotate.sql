-- Purpose: one step of retiring tables whose messages are all done; true when another may follow
-- Inputs: $1 now_ms, $2 bytes and $3 age in ms from which a table is closed
-- Lock: a queue's, see functions/store_rotate.sql
-- Index: see functions/store_rotate.sql
SELECT slipring.store_rotate($1, $2, $3)
