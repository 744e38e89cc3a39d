-- Purpose: deletes a queue with all that is in it
-- Inputs: $1 queue; $2 wait_ms, see functions/store/in_turn.sql
-- Lock: the queue's, see functions/store/store_delete_queue.sql
-- Index: primary key of queue
SELECT slipring.store_delete_queue(slipring.in_turn($1, $2))::text
FROM slipring.commit_flushed()
