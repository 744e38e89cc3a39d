-- Purpose: looks at one message without taking anything
-- Inputs: $1 message, $2 now_ms
-- Lock: none
-- Index: see functions/store/store_lookup.sql
SELECT queue::int8, state, id::int8, until_ms::int8, NULL::int8, sent_ms::int8, priority::int8,
  attempts::int8, first_received_ms::int8, delay_ms::int8, lease_ms::int8, group_name, dedup_id,
  headers::text, source, body, failures::text
FROM slipring.store_lookup($1, $2)
