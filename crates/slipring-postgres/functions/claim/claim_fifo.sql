-- Purpose: store_claim of a FIFO queue (S7.3, S7.7). Where a turn has not brought all of the log into the
--          groups and no group has something to give, it ends as one that may have more; a receive by
--          SQL, which has no holder, takes turns for a second.
-- Inputs:  as store_claim.
-- Lock:    the caller holds the queue's lock.
-- Index:   see fifo_open, item_hand_out.
CREATE OR REPLACE FUNCTION slipring.claim_fifo(
    p_queue slipring.queue, p_state slipring.state, p_now_ms bigint, p_up_to int[],
    p_lease_ms bigint[], p_session boolean[], p_holder bigint)
RETURNS TABLE (demand int, id bigint, fence bigint, deadline_ms bigint, sent_ms bigint,
    priority bigint, attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint,
    group_name text, dedup_id text, headers text, source text, body bytea, end_kind text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_up_to bigint;
    v_room bigint;
    v_bytes bigint := 0;
    v_before bigint;
    v_turns bigint := slipring.entry_now(p_queue.xid_base);
    v_feed record;
    v_taken int[];
    v_chosen record;
    v_done int8multirange;
    v_mark slipring.mark;
    v_n int;
    v_entered timestamptz := clock_timestamp();
    v_began timestamptz := v_entered;
BEGIN
    demand := 0;
    end_kind := 'more';
    FOR d IN 1..cardinality(p_up_to) LOOP
        v_room := greatest(
            p_queue.in_flight_max - (slipring.items_count(p_queue.queue_id)).leased, 0);
        v_up_to := greatest(p_up_to[d], 1);
        LOOP
            p_state := slipring.fifo_bring_in(p_queue, p_state, v_up_to, v_began);
            -- A group may be open for a message that came after another of it, which is still in the log.
            v_done := slipring.cut(p_queue.xid_base);
            v_before := slipring.fifo_before(p_queue, p_state, v_done);
            SELECT array_agg(f.id) AS ids, array_agg(f.name) AS names, array_agg(f.turn) AS turns,
                array_agg(f.attempts) AS attempts, array_agg(f.bytes) AS sizes, max(f.fence) AS fence
            INTO v_feed FROM slipring.fifo_open(p_queue.queue_id, v_up_to, v_up_to, v_before) f;
            EXIT WHEN p_holder IS NOT NULL OR v_feed.ids IS NOT NULL OR v_before = {{BIGINT_MAX}}
                OR clock_timestamp() >= v_entered + interval '1 second';
            v_began := clock_timestamp();
        END LOOP;
        v_taken := slipring.claim_fifo_choose(p_queue, least(v_up_to, v_room), v_feed.names,
            v_feed.attempts, v_feed.sizes);
        v_n := cardinality(v_taken);
        IF v_n > 0 THEN
            -- The groups in the order in which they gave: each gets a later moment.
            SELECT array_agg(v_feed.ids[t] ORDER BY n) AS ids, sum(v_feed.sizes[t]) AS bytes,
                array_agg(v_turns + g ORDER BY n) AS served, max(g) AS groups INTO v_chosen
            FROM (SELECT u.t, u.n, dense_rank() OVER (ORDER BY v_feed.turns[u.t],
                      v_feed.names[u.t]) AS g
                  FROM unnest(v_taken) WITH ORDINALITY AS u(t, n)) u;
            v_turns := v_turns + v_chosen.groups;
            p_state.seq := p_state.seq + 1;
            p_state.fence := greatest(p_state.fence, v_feed.fence, slipring.fence_least(p_now_ms)) + 1;
            PERFORM slipring.state_write(p_queue, p_state);
            -- Every group before the first that keeps its place has moved, or is closed. Where there
            -- may be more groups than it looked at, they come behind the last of these.
            v_mark := slipring.mark_read(p_queue.queue_id, 4);
            PERFORM slipring.mark_write(v_mark, least(v_before, coalesce(
                (SELECT min(u.turn) FROM unnest(v_feed.turns, v_feed.names) AS u(turn, name)
                 WHERE u.name <> ALL (SELECT v_feed.names[t] FROM unnest(v_taken) t)),
                CASE WHEN v_up_to > (SELECT count(DISTINCT u) FROM unnest(v_feed.names) u)
                    THEN greatest(v_mark.turn, v_feed.turns[cardinality(v_feed.turns)])
                    ELSE v_feed.turns[cardinality(v_feed.turns)] END)), 0, v_done);
            RETURN QUERY SELECT * FROM slipring.item_hand_out(p_queue, p_now_ms, v_chosen.ids,
                array_fill(d - 1, ARRAY[v_n]), p_state.fence, p_lease_ms, p_session, p_holder,
                v_chosen.served);
            v_bytes := v_bytes + v_chosen.bytes;
        END IF;
        IF v_n < v_up_to THEN
            IF v_n > 0 THEN
                -- The groups that gave are closed now.
                p_state := slipring.fifo_bring_in(p_queue, p_state, 1, v_began);
                v_before := slipring.fifo_before(p_queue, p_state, slipring.cut(p_queue.xid_base));
                v_feed.ids := (SELECT array_agg(f.id)
                    FROM slipring.fifo_open(p_queue.queue_id, 1, 1, v_before) f);
            END IF;
            IF v_feed.ids IS NULL THEN
                end_kind := CASE WHEN v_before = {{BIGINT_MAX}} THEN 'drained' ELSE 'more' END;
                EXIT;
            ELSIF v_n = v_room THEN
                end_kind := 'in_flight_limit';
                EXIT;
            END IF;
        END IF;
        EXIT WHEN v_bytes >= {{CLAIM_BYTES_MAX}};
    END LOOP;
    PERFORM slipring.tally_fold(p_queue);
    RETURN NEXT;
END $$;
