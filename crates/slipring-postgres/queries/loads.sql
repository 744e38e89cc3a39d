-- Purpose: open loads, and those that were published lately
-- Inputs: none
-- Lock: none
-- Index: see functions/store/store_loads.sql
SELECT load_id::bigint, queue_id::bigint, published, begun_ms, touched_ms, parts, messages, bytes
FROM slipring.store_loads()
