-- Purpose: hands out ready messages to demands; the commit does not wait for the flush (S1.4)
-- Inputs: $1 queue, $2 now_ms, $3 up_to, $4 leases_ms, $5 sessions, $6 holder
-- Lock: the queue's, see functions/store_claim.sql
-- Index: see functions/store_claim.sql
SELECT c.demand::int8, c.end_kind, c.id::int8, c.fence::int8, c.deadline_ms::int8, c.sent_ms::int8,
  c.priority::int8, c.attempts::int8, c.first_received_ms::int8, c.delay_ms::int8,
  c.lease_ms::int8, c.group_name, c.dedup_id, c.headers::text, c.source, c.body
FROM (SELECT set_config('synchronous_commit', 'off', true)) AS not_flushed,
  slipring.store_claim($1, $2, $3, $4, $5, $6) AS c
