-- Purpose: prolongs leases to now + duration (S3.3), or takes them up again (S3.7), entry by entry.
-- Inputs:  p_queue; p_now_ms; one entry for each: message, fence, duration or null for the
--          message's or the queue's own, whether the lease may be over; p_waited_ms in earlier tries, see
--          waited_ms: what was asked for in time is done, and counts from when it is done.
-- Lock:    the queue's lock.
-- Index:   lease_newest, item_picture_N_newest; the partitions' order indexes where a lease is
--          split.
CREATE OR REPLACE FUNCTION slipring.store_extend(
    p_queue int, p_now_ms bigint, p_messages bigint[], p_fences bigint[], p_leases_ms bigint[],
    p_take_up boolean[] DEFAULT NULL, p_waited_ms bigint DEFAULT 0)
RETURNS TABLE (ord int, deadline_ms bigint, error text, error_message text,
    error_context jsonb)
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
SET search_path = pg_catalog, slipring, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_began timestamptz := clock_timestamp();
    v_queue slipring.queue := slipring.queue_lock(p_queue, false);
    v_state slipring.state;
    v_row record;
    v_outcome text;
    v_own bigint[];
    v_ids bigint[] := '{}';
    v_fences bigint[] := '{}';
    v_untils bigint[] := '{}';
    v_item_ids bigint[] := '{}';
    v_item_untils bigint[] := '{}';
    v_free record;
BEGIN
    p_waited_ms := slipring.waited_ms(v_began, p_waited_ms);
    IF v_queue.queue_id IS NOT NULL THEN
        v_state := slipring.acks_take(v_queue, slipring.state_read(v_queue), p_now_ms);
        v_own := slipring.leases_own(v_queue, v_state, p_messages, p_fences, p_leases_ms);
    END IF;
    FOR v_row IN
        SELECT l.n, l.message, l.fence, l.lane, l.deadline_ms AS lapses, i.id,
            i.fence = l.fence AS newest, i.state = 2 AS leased, i.turn,
            p_take_up[l.n] AND NOT v_queue.fifo AS take_up,
            i.state IN (1, 2) AND i.attempts > 0 AS free,
            p_now_ms + p_waited_ms + coalesce(p_leases_ms[l.n], i.lease_ms, v_own[l.n],
                v_queue.visibility_timeout_ms) AS until_ms
        FROM slipring.lease_find(v_queue.queue_id, p_messages, p_fences) l
        LEFT JOIN LATERAL slipring.item_now(l.message) i ON i.queue_id = p_queue
        ORDER BY l.n
    LOOP
        v_outcome := CASE
            WHEN v_queue.queue_id IS NULL THEN 'gone'
            WHEN v_row.lane IS NOT NULL AND (v_row.take_up OR p_now_ms < v_row.lapses) THEN 'log'
            WHEN v_row.lane IS NOT NULL THEN 'late'
            WHEN v_row.id IS NULL AND slipring.log_holds(v_queue, v_row.message,
                v_row.fence) THEN 'undone'
            WHEN v_row.id IS NULL THEN 'gone'
            WHEN NOT v_row.newest THEN 'newer'
            WHEN v_row.take_up AND v_row.free THEN 'item'
            WHEN NOT v_row.leased THEN 'ended'
            WHEN p_now_ms >= v_row.turn THEN 'late'
            ELSE 'item' END;
        IF v_outcome = 'log' THEN
            v_ids := v_ids || v_row.message;
            v_fences := v_fences || v_row.fence;
            v_untils := v_untils || v_row.until_ms;
        ELSIF v_outcome = 'item' THEN
            v_item_ids := v_item_ids || v_row.id;
            v_item_untils := v_item_untils || v_row.until_ms;
        END IF;
        RETURN QUERY SELECT v_row.n,
            CASE WHEN v_outcome IN ('log', 'item') THEN v_row.until_ms END, s.error,
            s.error_message, s.error_context
        FROM slipring.settled(v_row.message, v_row.n, v_outcome, NULL, NULL) s;
    END LOOP;
    IF v_ids <> '{}' THEN
        PERFORM slipring.lease_prolong(v_queue, v_state, v_ids, v_fences, v_untils);
    END IF;
    IF v_item_ids <> '{}' THEN
        -- What is ready is leased again; of several entries for one message the last counts.
        SELECT array_agg(u.id) AS ids, array_agg(u.until_ms) AS untils INTO v_free
        FROM (SELECT DISTINCT ON (u.id) u.* FROM unnest(v_item_ids, v_item_untils)
                  WITH ORDINALITY AS u(id, until_ms, n)
              ORDER BY u.id, u.n DESC) u
        CROSS JOIN LATERAL slipring.item_now(u.id) i WHERE i.state = 1;
        PERFORM slipring.item_prolong(v_queue, v_item_ids, v_item_untils);
        IF v_free.ids IS NOT NULL THEN
            PERFORM slipring.item_set(v_queue, v_free.ids,
                array_fill(2, ARRAY[cardinality(v_free.ids)]), v_free.untils);
        END IF;
    END IF;
END $$;
