-- Purpose: makes all messages of a load ready
-- Inputs: $1 load, $2 how many there have to be, $3 now_ms;
--   $4 wait_ms, see functions/store/in_turn.sql
-- Lock: see functions/store/store_load_publish.sql
-- Index: see functions/store/store_load_publish.sql
SELECT load_id::bigint, queue_id::bigint, published, begun_ms, touched_ms, parts, messages, bytes
FROM slipring.store_load_publish(slipring.in_turn($1, $4), $2, $3)
