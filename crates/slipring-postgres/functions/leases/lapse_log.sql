-- Purpose: ends leases of the log of a queue whose deadline has passed, at most p_left messages and
--          until the turn is over; a lease counts as 40 at least, which is what its statements cost
--          besides.
-- Inputs:  p_queue; p_target, its dead-letter queue or null; p_now_ms; p_holder: instead end the
--          leases that end with this process, whatever their deadline.
-- Lock:    the queue's lock; a message with an ack in a user's open transaction is left for
--          later.
-- Index:   lease_deadline or lease_holder, lease_newest; the partitions' order indexes.
-- Answers: how many messages, as how many they count (p_left at least where the turn was over),
--          whether they went to the dead-letter queue or were parked, and whether a message was left
--          for a user's transaction.
CREATE OR REPLACE FUNCTION slipring.lapse_log(
    p_queue slipring.queue, p_target slipring.queue, p_now_ms bigint, p_left bigint,
    p_holder bigint, OUT lapsed bigint, OUT cost bigint, OUT next text, OUT busy boolean)
LANGUAGE plpgsql AS $$
DECLARE
    v_state slipring.state := slipring.state_read(p_queue);
    v_from text := slipring.live_tables(p_queue, v_state);
    v_lease slipring.lease;
    v_ids bigint[];
    v_fences bigint[] := '{}';
    v_n int;
    v_dead boolean;
    v_part record;
    v_bytes bigint := 0;
    v_began timestamptz := clock_timestamp();
    v_lapse_ms bigint := v_state.lapse_ms;
    v_taken int8multirange := v_state.taken;
BEGIN
    lapsed := 0;
    cost := 0;
    busy := false;
    next := (slipring.settle_next(p_queue, 'lapse', 1, NULL, NULL)).next;
    v_dead := next = 'dead_letter' AND p_target.queue_id IS NOT NULL;
    FOR v_lease IN
        SELECT l.* FROM (
            SELECT * FROM lease t WHERE p_holder IS NULL
                AND t.queue_id * 2::bigint = p_queue.queue_id * 2::bigint
                AND t.deadline_ms >= v_state.lapse_ms AND t.deadline_ms <= p_now_ms
            UNION ALL
            SELECT * FROM lease h
            WHERE h.holder = p_holder AND h.queue_id + 0 = p_queue.queue_id) l
        WHERE l.n > 0 AND l.seq = (
            SELECT newest.seq FROM lease newest WHERE newest.queue_id = l.queue_id
                AND newest.fence = l.fence AND newest.part = l.part
            ORDER BY newest.seq DESC LIMIT 1)
        ORDER BY l.deadline_ms, l.fence
    LOOP
        IF cost > 0 AND slipring.turn_over(v_began, v_bytes) THEN
            cost := greatest(cost, p_left);
        END IF;
        EXIT WHEN cost >= p_left;
        IF NOT slipring.ack_many_none(p_queue.lock_key) THEN
            -- This lease and the others would be left, each with a lock that is of no use.
            busy := true;
            EXIT;
        END IF;
        -- What is larger than a turn goes alone.
        SELECT coalesce(array_agg(m.id ORDER BY m.id) FILTER (WHERE m.free), '{}') AS ids,
            count(*) AS n, sum(m.bytes) FILTER (WHERE m.free) AS bytes INTO v_part
        FROM (SELECT m.id, m.bytes, slipring.lease_free(p_queue, v_lease.fence, m.id) AS free
              FROM (SELECT m.id, m.bytes, sum(m.bytes) OVER (ORDER BY m.id) - m.bytes AS before
                    FROM slipring.lease_members(v_from, v_lease, p_left - cost) m OFFSET 0) m
              WHERE NOT slipring.turn_over('infinity', v_bytes + m.before)) m;
        IF v_part.n = 0 THEN
            -- It would be looked at again for ever; see row_fault for what comes of it.
            RAISE EXCEPTION USING ERRCODE = 'data_corrupted', MESSAGE = format(
                'the lease %s says that it has %s messages, and has none', v_lease.fence, v_lease.n);
        END IF;
        v_ids := v_part.ids;
        v_bytes := v_bytes + coalesce(v_part.bytes, 0);
        IF slipring.acks_wait(p_queue, v_state) THEN
            v_ids := ARRAY(SELECT u FROM unnest(v_ids) u
                WHERE NOT slipring.acked(u, v_lease.fence) ORDER BY u);
        END IF;
        v_n := cardinality(v_ids);
        busy := busy OR v_n < v_part.n;
        CONTINUE WHEN v_n = 0;
        v_state.seq := v_state.seq + 1;
        v_state := (slipring.lease_ack(p_queue, v_state, v_ids,
            array_fill(v_lease.fence, ARRAY[v_n]))).p_state;
        PERFORM slipring.log_to_items(v_from, CASE WHEN v_dead THEN p_target ELSE p_queue END,
            array_fill(v_lease.lane, ARRAY[v_n]), v_ids,
            array_fill(CASE WHEN next = 'dead_letter' AND NOT v_dead THEN 3 ELSE 1 END,
                ARRAY[v_n]), NULL, NULL,
            array_fill(CASE WHEN v_dead THEN 0 ELSE 1 END::bigint, ARRAY[v_n]),
            array_fill(v_lease.fence, ARRAY[v_n]),
            CASE WHEN NOT v_dead THEN array_fill(v_lease.leased_ms, ARRAY[v_n]) END, NULL,
            CASE WHEN v_dead THEN p_queue.name END, NULL, v_dead);
        v_fences := v_fences || v_lease.fence;
        lapsed := lapsed + v_n;
        cost := cost + greatest(v_n, 40);
    END LOOP;
    IF cost > 0 AND slipring.turn_over('infinity', v_bytes) THEN
        -- The last lease may have ended in part; the rest of it lapses in the next turn.
        cost := greatest(cost, p_left);
    END IF;
    -- Where lease_ack has read hand-outs of a moment ago, those that are due have not been looked at.
    IF v_state.leased > 0 AND NOT busy AND v_state.taken IS NOT DISTINCT FROM v_taken
        AND cost < p_left AND p_holder IS NULL THEN
        v_state.lapse_ms := slipring.lapse_next(p_queue.queue_id, p_now_ms);
        IF v_state.lapse_ms IS NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'data_corrupted', MESSAGE = format(
                '%s messages are leased, and no lease has them', v_state.leased);
        END IF;
    END IF;
    IF lapsed = 0 AND v_state.lapse_ms IS NOT DISTINCT FROM v_lapse_ms THEN
        RETURN;
    END IF;
    IF lapsed > 0 THEN
        PERFORM slipring.endings_note(p_queue, v_fences);
    END IF;
    v_state.seq := v_state.seq + 1;
    PERFORM slipring.state_write(p_queue, v_state);
END $$;
