-- Purpose: acks messages in their first hands, all of them or none; the commit does not wait for
--   the flush, see functions/store/commit_defer.sql
-- Inputs: $1 queue; runs of ids, $2 from and $3 to below, $4 with their fences;
--   $5 wait_ms, see functions/store/in_turn.sql
-- Lock: the queue's, see functions/store/store_ack.sql
-- Index: see functions/store/store_ack.sql
SELECT done, flush FROM slipring.store_ack(slipring.in_turn($1, $5), $2, $3, $4)
