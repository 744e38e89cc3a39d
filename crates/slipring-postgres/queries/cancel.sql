-- Purpose: removes one message that nobody holds; answers its queue
-- Inputs: $1 message, $2 now_ms
-- Lock: the queue's, see functions/store_cancel.sql
-- Index: see functions/store_cancel.sql
SELECT slipring.store_cancel(slipring.in_turn($1), $2)::int8
