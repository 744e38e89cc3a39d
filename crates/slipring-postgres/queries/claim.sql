-- Purpose: hands out ready messages to demands; the commit does not wait for the flush (S1.4)
-- Inputs: $1 queue, $2 now_ms, $3 up_to, $4 leases_ms, $5 sessions, $6 holder;
--   $7 wait_ms, see functions/store/in_turn.sql; $8 waited_ms, in earlier tries
-- Lock: the queue's, see functions/store/store_claim.sql
-- Index: see functions/store/store_claim.sql
SELECT c.demand::int8, c.end_kind, c.id, c.fence, c.deadline_ms, c.sent_ms, c.priority, c.attempts,
  c.first_received_ms, c.delay_ms, c.lease_ms, c.group_name, c.dedup_id, c.headers, c.source, c.body,
  c.ids, c.sents_ms, c.bodies, c.groups, c.dedup_ids, c.headers_each,
  c.ns, c.firsts, c.counts, c.place
FROM (SELECT set_config('synchronous_commit', 'off', true),
    -- The answer goes out before the commit: a server that reads nothing, because it is stopped or out of
    -- reach, would keep the lock. Elsewhere than on Linux PostgreSQL cannot do it, and logs that.
    CASE WHEN version() LIKE '%-linux-%' AND current_setting('tcp_user_timeout') = '0'
      THEN set_config('tcp_user_timeout', '5s', true) END
  ) AS not_flushed,
  slipring.store_claim(slipring.in_turn($1, $7), $2, $3, $4, $5, $6, $8) AS c
