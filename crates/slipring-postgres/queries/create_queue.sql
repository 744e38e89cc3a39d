-- Purpose: creates a queue, or answers the one with equal settings
-- Inputs: $1 name, $2 settings, $3 now_ms; $4 wait_ms, see functions/store/in_turn.sql
-- Lock: the catalogue's, see functions/store/store_create_queue.sql
-- Index: unique index on queue (name)
SELECT queue_id::int8, name, settings::jsonb, created_ms::int8, modified_ms::int8, created
FROM slipring.commit_flushed(),
  slipring.store_create_queue(slipring.in_turn($1, $4), $2, $3)
