-- Purpose: deletes a queue with all that is in it
-- Inputs: $1 queue
-- Lock: the queue's, see functions/store_delete_queue.sql
-- Index: primary key of queue
SELECT slipring.store_delete_queue(slipring.in_turn($1))::text
