-- Purpose: one step of retiring tables whose messages are all done; true when another may follow
-- Inputs: $1 which tables, $2 now_ms, $3 bytes and $4 age in ms from which a table is closed
-- Lock: a queue's, see functions/store_rotate.sql
-- Index: see functions/store_rotate.sql
SELECT slipring.store_rotate($1, $2, $3, $4)
