-- Purpose: ends leases of messages that have pictures.
-- Inputs:  p_queue; p_target, its dead-letter queue or null; p_ids of those that are leased and
--          lapse now.
-- Lock:    the queue's lock; one with an ack in a user's open transaction is left for later.
-- Index:   item_picture_N_newest; see acked.
-- Answers: how many became ready, went to the dead-letter queue, were parked.
CREATE OR REPLACE FUNCTION slipring.lapse_items(
    p_queue slipring.queue, p_target slipring.queue, p_ids bigint[], OUT ready bigint,
    OUT dead bigint, OUT parked bigint)
LANGUAGE plpgsql AS $$
DECLARE
    v_ids bigint[] := ARRAY(SELECT i.id FROM unnest(p_ids) u
        CROSS JOIN LATERAL slipring.item_now(u) i
        WHERE i.queue_id = p_queue.queue_id AND i.state = 2 AND pg_try_advisory_xact_lock(
            slipring.lease_key(p_queue.lock_key, i.fence, i.id)));
    v_ready bigint[];
    v_over bigint[];
BEGIN
    SELECT coalesce(array_agg(i.id) FILTER (WHERE i.next = 'ready'), '{}'),
        coalesce(array_agg(i.id) FILTER (WHERE i.next <> 'ready'), '{}')
    INTO v_ready, v_over
    FROM (SELECT i.id, (slipring.settle_next(p_queue, 'lapse', i.attempts, NULL, NULL)).next
          FROM unnest(v_ids) u CROSS JOIN LATERAL slipring.item_now(u) i
          WHERE NOT slipring.acked(i.id, i.fence)) i;
    ready := cardinality(v_ready);
    dead := CASE WHEN p_target.queue_id IS NULL THEN 0 ELSE cardinality(v_over) END;
    parked := cardinality(v_over) - dead;
    IF ready > 0 THEN
        PERFORM slipring.item_set(p_queue, v_ready, array_fill(1, ARRAY[ready::int]), NULL);
    END IF;
    IF dead > 0 THEN
        PERFORM slipring.item_move(p_queue, p_target, v_over, p_queue.name);
    ELSIF parked > 0 THEN
        PERFORM slipring.item_set(p_queue, v_over, array_fill(3, ARRAY[parked::int]), NULL);
    END IF;
    IF ready + dead + parked > 0 THEN
        PERFORM slipring.endings_note(p_queue);
        PERFORM slipring.tally_fold(p_queue);
    END IF;
END $$;
