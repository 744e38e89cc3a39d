-- Purpose: ends leases of messages that have pictures.
-- Inputs:  p_queue; p_target, its dead-letter queue or null; p_ids of those that are leased and
--          lapse now; p_now_ms.
-- Lock:    the queue's lock; one with an ack in a user's open transaction is left for later.
-- Index:   item_picture_N_newest; see acked.
-- Answers: how many became ready, went to the dead-letter queue, were parked.
CREATE OR REPLACE FUNCTION slipring.lapse_items(
    p_queue slipring.queue, p_target slipring.queue, p_ids bigint[], p_now_ms bigint,
    OUT ready bigint, OUT dead bigint, OUT parked bigint)
LANGUAGE plpgsql AS $$
DECLARE
    v_ids bigint[] := ARRAY(SELECT i.id FROM unnest(p_ids) u
        CROSS JOIN LATERAL slipring.item_now(u) i
        WHERE i.queue_id = p_queue.queue_id AND i.state = 2
            AND slipring.lease_free(p_queue, i.fence, i.id));
    -- Before they change.
    v_fences bigint[] := ARRAY(SELECT i.fence FROM unnest(v_ids) u
        CROSS JOIN LATERAL slipring.item_now(u) i);
    v_ready bigint[];
    v_over bigint[];
    v_ready_failures jsonb[];
    v_over_failures jsonb[];
BEGIN
    SELECT coalesce(array_agg(i.id) FILTER (WHERE i.next = 'ready'), '{}'),
        coalesce(array_agg(i.id) FILTER (WHERE i.next <> 'ready'), '{}'),
        array_agg(i.failures) FILTER (WHERE i.next = 'ready'),
        array_agg(i.failures) FILTER (WHERE i.next <> 'ready')
    INTO v_ready, v_over, v_ready_failures, v_over_failures
    FROM (SELECT i.id, (slipring.settle_next(p_queue, 'lapse', i.attempts, NULL, NULL)).next,
              CASE WHEN i.failures IS NOT NULL THEN slipring.failures_with(i.failures, i.attempts,
                  'lapse', NULL, p_now_ms) END AS failures
          FROM unnest(v_ids) u CROSS JOIN LATERAL slipring.item_now(u) i
          WHERE NOT slipring.acked(i.id, i.fence)) i;
    ready := cardinality(v_ready);
    dead := CASE WHEN p_target.queue_id IS NULL THEN 0 ELSE cardinality(v_over) END;
    parked := cardinality(v_over) - dead;
    IF ready > 0 THEN
        PERFORM slipring.item_set(p_queue, v_ready, array_fill(1, ARRAY[ready::int]), NULL,
            p_failures => v_ready_failures);
    END IF;
    IF dead > 0 THEN
        PERFORM slipring.item_move(p_queue, p_target, v_over, p_queue.name, v_over_failures);
    ELSIF parked > 0 THEN
        PERFORM slipring.item_set(p_queue, v_over, array_fill(3, ARRAY[parked::int]), NULL,
            p_failures => v_over_failures);
    END IF;
    IF ready + dead + parked > 0 THEN
        PERFORM slipring.endings_note(p_queue, v_fences);
        PERFORM slipring.tally_fold(p_queue);
    END IF;
END $$;
