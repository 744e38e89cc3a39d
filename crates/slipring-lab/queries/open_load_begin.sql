-- Purpose: begins a load whose first 16 parts have their numbers; answers its number.
-- Inputs: $1 the queue.
-- Lock: the queue's.
-- Index: see functions/store/store_load_begin.sql of the store.
SELECT slipring.load_begin($1::text, 16)
