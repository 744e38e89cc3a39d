-- Purpose: removes messages in any state; answers how many
-- Inputs: $1 queue, $2 limit, $3 sent_until_ms; $4 wait_ms, see functions/store/in_turn.sql
-- Lock: the queue's, see functions/store/store_purge.sql
-- Index: see functions/store/store_purge.sql
SELECT slipring.store_purge(slipring.in_turn($1, $4), $2, $3)::int8
FROM slipring.commit_flushed()
