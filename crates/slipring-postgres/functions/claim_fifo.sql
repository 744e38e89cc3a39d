-- Purpose: store_claim of a FIFO queue (S7.3).
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
    v_wanted bigint;
    v_room bigint;
    v_bytes bigint := 0;
    v_feed record;
    v_deal record;
    v_done int8multirange := slipring.cut(p_queue.xid_base);
    v_mark slipring.mark;
    v_n int;
BEGIN
    demand := 0;
    end_kind := 'more';
    FOR d IN 1..cardinality(p_up_to) LOOP
        v_room := greatest(
            p_queue.in_flight_max - (slipring.items_count(p_queue.queue_id)).leased, 0);
        v_wanted := least(greatest(p_up_to[d], 1), v_room) + 1;
        p_state := slipring.fifo_bring_in(p_queue, p_state, v_wanted);
        SELECT array_agg(f.id) AS ids, array_agg(f.attempts) AS attempts,
            array_agg(f.bytes) AS sizes, max(f.fence) AS fence
        INTO v_feed FROM slipring.fifo_open(p_queue.queue_id, v_wanted) f;
        v_deal := slipring.claim_deal(p_queue, p_up_to[d:d], v_feed.attempts, v_feed.sizes,
            v_room);
        v_n := cardinality(v_deal.demands);
        IF v_n > 0 THEN
            p_state.seq := p_state.seq + 1;
            p_state.fence := greatest(p_state.fence, v_feed.fence, p_now_ms << 20) + 1;
            PERFORM slipring.state_write(p_queue, p_state);
            -- Every group whose head was before the first that it does not take is closed now.
            v_mark := slipring.mark_read(p_queue.queue_id, 4);
            PERFORM slipring.mark_write(v_mark, 0, coalesce(v_feed.ids[v_n + 1],
                greatest(v_mark.id, v_feed.ids[v_n])), v_done);
            RETURN QUERY SELECT * FROM slipring.item_hand_out(p_queue, p_now_ms,
                v_feed.ids[:v_n], array_fill(d - 1, ARRAY[v_n]), p_state.fence, p_lease_ms,
                p_session, p_holder);
            v_bytes := v_bytes + (SELECT sum(b) FROM unnest(v_feed.sizes[:v_n]) b);
        END IF;
        IF v_n < greatest(p_up_to[d], 1) THEN
            -- What it leaves may be in groups that it has just closed.
            p_state := slipring.fifo_bring_in(p_queue, p_state, 1);
            IF NOT EXISTS (SELECT FROM slipring.fifo_open(p_queue.queue_id, 1)) THEN
                end_kind := 'drained';
                EXIT;
            ELSIF v_n = v_room THEN
                end_kind := 'in_flight_limit';
                EXIT;
            END IF;
        END IF;
        EXIT WHEN v_bytes >= 67108864;
    END LOOP;
    PERFORM slipring.tally_fold(p_queue);
    RETURN NEXT;
END $$;
