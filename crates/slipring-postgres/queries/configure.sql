-- Purpose: replaces a queue's settings, if they have not changed since they were read; whether it did
-- Inputs: $1 queue, $2 settings, $3 now_ms, $4 when they were last changed as it was read, or NULL;
--   $5 wait_ms, see functions/store/in_turn.sql
-- Lock: the queue's, see functions/store/store_configure.sql
-- Index: primary key of queue
SELECT queue_id::int8, name, settings::jsonb, created_ms::int8, modified_ms::int8, done
FROM slipring.commit_flushed(),
  slipring.store_configure(slipring.in_turn($1, $5), $2, $3, $4)
