-- Purpose: refuses to end so many leases at once that the server's locks would run out, for all sessions
--          (SR006). One transaction may have half of them.
-- Inputs:  p_queue; p_messages with p_fences and p_kinds, entry by entry: acks need none, see lease_free.
-- Lock:    none; it counts those that this transaction has and would need.
-- Index:   see lease_single.
CREATE OR REPLACE FUNCTION slipring.locks_fit(
    p_queue slipring.queue, p_messages bigint[], p_fences bigint[], p_kinds text[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_most bigint;
    v_asked record;
BEGIN
    IF cardinality(p_messages) < {{LOCKS_COUNTED}} THEN
        RETURN;
    END IF;
    SELECT sum(l.n) AS messages, count(*) AS leases, sum(l.keys + CASE WHEN l.fence >= 0
        OR slipring.lease_single(p_queue.queue_id, l.fence) THEN 0 ELSE 1 END) AS locks INTO v_asked
    FROM (SELECT u.fence, count(*) AS n, count(DISTINCT slipring.lease_key(p_queue.lock_key,
              u.fence, u.message)) AS keys
          FROM unnest(p_messages, p_fences, p_kinds) AS u(message, fence, kind)
          WHERE u.kind <> 'ack' GROUP BY u.fence) l;
    v_most := slipring.locks_left();
    IF v_asked.locks > v_most THEN
        PERFORM slipring.fail('SR006', format('to give back %s messages of %s hand-outs takes %s '
            'locks, and this transaction may take %s: give back fewer in one transaction, of at '
            'most %s hand-outs of one message; or raise max_locks_per_transaction of the server',
            v_asked.messages, v_asked.leases, v_asked.locks, v_most, v_most),
            jsonb_build_object('queue', p_queue.name, 'limit', 'locks_max', 'limit_value', v_most,
                'asked', v_asked.locks));
    END IF;
END $$;
