-- Purpose: removes one message that nobody holds; answers its queue
-- Inputs: $1 message, $2 now_ms; $3 wait_ms, see functions/store/in_turn.sql
-- Lock: the queue's, see functions/store/store_cancel.sql
-- Index: see functions/store/store_cancel.sql
SELECT slipring.store_cancel(slipring.in_turn($1, $3), $2)::int8
FROM slipring.commit_flushed()
