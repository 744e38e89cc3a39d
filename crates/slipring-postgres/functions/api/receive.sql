-- Purpose: hands out ready messages (S7) under a lease.
-- Inputs:  the queue's name; n, at most how many, 1 to 10,000; lease, or null for the message's or
--          the queue's own.
-- Lock:    to the end of the transaction, see offer_take, receive_one and receive_claim: mostly of
--          nothing but the messages.
-- Index:   see offer_take, receive_one, receive_claim.
CREATE OR REPLACE FUNCTION slipring.receive(
    queue text, n int DEFAULT 1, lease interval DEFAULT NULL)
RETURNS TABLE (receipt text, body bytea, id bigint, priority bigint, attempts bigint,
    sent_at timestamptz, lease_until timestamptz, "group" text, dedup_id text, headers jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    v_queue slipring.queue := slipring.queue_named(receive.queue, 'consumer');
    v_key bytea := (SELECT s.receipt_key FROM slipring.store s);
    v_now_ms bigint := slipring.now_ms();
    v_lease_ms bigint;
    v_one record;
    v_ended boolean;
BEGIN
    PERFORM slipring.isolation_check(),
        slipring.count_check('receive_messages_max', {{BATCH_MESSAGES_MAX}}, receive.n, receive.queue);
    v_lease_ms := slipring.interval_ms(receive.lease, 'the lease', receive.queue);
    IF receive.n = 1 THEN
        PERFORM slipring.generations_enter();
        v_one := slipring.offer_take(v_queue, v_now_ms, v_lease_ms);
        v_ended := v_one.fence IS NOT NULL;
        IF NOT v_ended THEN
            v_one := slipring.receive_one(v_queue, v_now_ms, v_lease_ms);
            v_ended := v_one.ended;
        END IF;
        IF v_one.fence IS NOT NULL THEN
            receipt := slipring.receipt_seal(v_key, v_queue.queue_id, (v_one.message).id,
                v_one.fence);
            id := (v_one.message).id;
            body := (v_one.message).body;
            priority := (v_one.message).lane & {{PRIORITY_MAX}};
            attempts := 1;
            sent_at := to_timestamp((v_one.message).sent_ms / 1000.0);
            lease_until := to_timestamp(v_one.deadline_ms / 1000.0);
            "group" := (v_one.message).group_name;
            dedup_id := (v_one.message).dedup_id;
            headers := (v_one.message).headers::jsonb;
            RETURN NEXT;
        END IF;
        IF v_ended THEN
            RETURN;
        END IF;
    END IF;
    RETURN QUERY SELECT slipring.receipt_seal(v_key, v_queue.queue_id, m.id, c.fence), m.body,
        m.id, c.priority, c.attempts, to_timestamp(m.sent_ms / 1000.0),
        to_timestamp(c.deadline_ms / 1000.0), m.group_name, m.dedup_id, m.headers::jsonb
    FROM slipring.receive_claim(v_queue, v_now_ms, receive.n, v_lease_ms) c
    CROSS JOIN LATERAL (
        SELECT c.id, c.sent_ms, c.body, c.group_name, c.dedup_id, c.headers
        WHERE c.id IS NOT NULL
        UNION ALL
        SELECT coalesce(u.first, u.id) + k, u.sent_ms, CASE WHEN u.n IS NULL THEN u.body
                ELSE slipring.pack_body(u.body, u.n, (u.first - u.id + u.n + k)::int) END,
            u.group_name, u.dedup_id, u.headers
        FROM unnest(c.ids, c.sents_ms, c.bodies, c.groups, c.dedup_ids, c.headers_each, c.ns,
            c.firsts, c.counts) WITH ORDINALITY AS u(id, sent_ms, body, group_name, dedup_id,
            headers, n, first, count, at)
        CROSS JOIN LATERAL generate_series(0, coalesce(u.count, 1) - 1) k
        ORDER BY 1) m(id, sent_ms, body, group_name, dedup_id, headers);
END $$;
