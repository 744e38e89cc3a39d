-- Purpose: ends leases of a queue: of the log, then of messages that have pictures, until the turn is
--          over.
-- Inputs:  p_queue; p_now_ms; p_left, at most how many messages; p_ids of messages with pictures
--          that lapse; p_holder as in lapse_log; p_log, whether to look at the log.
-- Lock:    the caller holds the queue's lock.
-- Index:   see lapse_log, lapse_items.
-- Answers: queues in which a receive may find more than before, with how many messages became
--          ready or made room; and in a row without a queue how many were parked, as how many all
--          of them count (p_left where the turn was over first), and whether a lease was left for
--          a user's transaction.
CREATE OR REPLACE FUNCTION slipring.lapse_queue(
    p_queue slipring.queue, p_now_ms bigint, p_left bigint, p_ids bigint[], p_holder bigint,
    p_log boolean)
RETURNS TABLE (queue int, ready bigint, removed bigint, handled bigint, busy boolean)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_target slipring.queue;
    v_log record;
    v_items record;
    v_ids bigint[];
    v_part bigint[];
    v_ready bigint := 0;
    v_dead bigint := 0;
    v_parked bigint := 0;
    v_cost bigint := 0;
    v_began timestamptz := clock_timestamp();
BEGIN
    busy := false;
    removed := 0;
    IF NOT (slipring.acks_turn(p_queue, p_now_ms, v_began)).done THEN
        handled := p_left;
        RETURN NEXT;
        RETURN;
    END IF;
    v_target := slipring.dead_letter_queue(p_queue);
    IF p_log THEN
        v_log := slipring.lapse_log(p_queue, v_target, p_now_ms, p_left, p_holder);
        busy := v_log.busy;
        v_cost := v_log.cost;
        IF v_log.next = 'ready' THEN
            v_ready := v_log.lapsed;
        ELSIF v_target.queue_id IS NULL THEN
            v_parked := v_log.lapsed;
        ELSE
            v_dead := v_log.lapsed;
        END IF;
    END IF;
    v_ids := ARRAY(SELECT i.id FROM unnest(p_ids) u CROSS JOIN LATERAL slipring.item_now(u) i
        WHERE i.queue_id = p_queue.queue_id AND i.state = 2
            AND CASE WHEN p_holder IS NULL THEN i.turn <= p_now_ms ELSE i.holder = p_holder END
        LIMIT greatest(p_left - v_cost, 0));
    WHILE v_ids <> '{}' LOOP
        IF v_cost > 0 AND slipring.turn_over(v_began) THEN
            v_cost := p_left;
            EXIT;
        END IF;
        v_part := v_ids[:{{PICTURES_STEP}}];
        v_ids := v_ids[{{PICTURES_STEP}} + 1:];
        v_items := slipring.lapse_items(p_queue, v_target, v_part, p_now_ms);
        busy := busy
            OR v_items.ready + v_items.dead + v_items.parked < cardinality(v_part);
        v_ready := v_ready + v_items.ready;
        v_dead := v_dead + v_items.dead;
        v_parked := v_parked + v_items.parked;
        v_cost := v_cost + v_items.ready + v_items.dead + v_items.parked;
    END LOOP;
    removed := v_parked;
    handled := v_cost;
    RETURN NEXT;
    IF v_dead > 0 THEN
        RETURN QUERY SELECT v_target.queue_id, v_dead, 0::bigint, 0::bigint, false;
    END IF;
    IF v_ready + v_dead + v_parked > 0 THEN
        RETURN QUERY SELECT p_queue.queue_id, v_ready + v_dead + v_parked, 0::bigint, 0::bigint,
            false;
    END IF;
END $$;
