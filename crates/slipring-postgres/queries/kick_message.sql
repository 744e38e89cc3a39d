-- Purpose: makes one parked or delayed message ready; answers its queue
-- Inputs: $1 message, $2 now_ms
-- Lock: the queue's, see functions/store_kick_message.sql
-- Index: see functions/store_kick_message.sql
SELECT slipring.store_kick_message(slipring.in_turn($1), $2)::int8
