-- Purpose: hands out one given message that nobody holds; the commit does not wait for the flush
-- Inputs: $1 queue, $2 message, $3 lease_ms, $4 session, $5 holder, $6 now_ms;
--   $7 wait_ms, see functions/store/in_turn.sql; $8 waited_ms, in earlier tries
-- Lock: the queue's, see functions/store/store_claim_message.sql
-- Index: see functions/store/store_claim_message.sql
SELECT 0::int8, NULL::text, c.id::int8, c.fence::int8, c.deadline_ms::int8, c.sent_ms::int8,
  c.priority::int8, c.attempts::int8, c.first_received_ms::int8, c.delay_ms::int8,
  c.lease_ms::int8, c.group_name, c.dedup_id, c.headers::text, c.source, c.body
FROM (SELECT set_config('synchronous_commit', 'off', true),
    -- The answer goes out before the commit: a server that reads nothing, because it is stopped or out of
    -- reach, would keep the lock. Elsewhere than on Linux PostgreSQL cannot do it, and logs that.
    CASE WHEN version() LIKE '%-linux-%' AND current_setting('tcp_user_timeout') = '0'
      THEN set_config('tcp_user_timeout', '5s', true) END
  ) AS not_flushed,
  slipring.store_claim_message(slipring.in_turn($1, $7), $2, $3, $4, $5, $6, $8) AS c
