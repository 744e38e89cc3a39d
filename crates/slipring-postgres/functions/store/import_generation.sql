-- Purpose: makes the state of a queue fit its tables in a database that was restored: a dump has rows as
--          they were when it began, but sequences, and what has been emptied, as of later. It leaves
--          out the state of a queue where the tables of it were emptied after the dump's snapshot was
--          taken and before its locks were: then everything that is in the queue's tables, and is
--          neither leased nor acked nor on the shelf, is ready, and messages that had been acked
--          before may be given again.
-- Inputs:  p_queue; p_now_ms.
-- Lock:    none; the caller sees to it that no other session uses the store, see store_import.
-- Index:   state_newest; without a state also lease_newest, and all of item_picture and of the
--          queue's acks.
CREATE OR REPLACE FUNCTION slipring.import_generation(p_queue slipring.queue, p_now_ms bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_low bigint := (SELECT s.generation_low FROM slipring.state s
        WHERE s.queue_id = p_queue.queue_id ORDER BY s.seq DESC LIMIT 1);
    v_shared boolean := p_queue.generation_low IS NOT NULL;
    v_now bigint := greatest(pg_sequence_last_value(p_queue.generation),
        CASE WHEN NOT v_shared THEN v_low END, 0);
    v_state slipring.state;
    v_gone int8multirange;
    v_leased record;
    v_known int8multirange;
BEGIN
    PERFORM setval(p_queue.generation, v_now);
    IF v_low IS NULL THEN
        PERFORM slipring.state_begin(p_queue, p_now_ms);
        v_state := slipring.state_read(p_queue);
        SELECT coalesce(sum(l.n), 0) AS n, coalesce(sum(l.bytes), 0) AS bytes,
            min(l.deadline_ms) AS lapse_ms
        INTO v_leased FROM slipring.lease_open(p_queue.queue_id) l;
        v_gone := slipring.load_held(p_queue.queue_id)
            + coalesce((SELECT range_agg(r) FROM slipring.lease_open(p_queue.queue_id) l
                CROSS JOIN LATERAL unnest(l.open) r), '{}')
            + coalesce((SELECT range_agg(int8range(p.id, p.id + 1)) FROM slipring.item_picture p), '{}')
            + coalesce((SELECT range_agg(int8range(a.message_id, a.message_id + 1))
                FROM slipring.acks_in(p_queue.queue_id, '{[0,)}') a), '{}');
        FOR v_at IN 1..cardinality(v_state.lanes) LOOP
            v_state.open[v_at] := v_state.open[v_at] - v_gone;
        END LOOP;
        v_state.seq := v_state.seq + 1;
        v_state.leased := v_leased.n;
        v_state.leased_bytes := v_leased.bytes;
        v_state.lapse_ms := v_leased.lapse_ms;
        -- All hand-outs by SQL that are there are among the leases: taken_ask expects others.
        v_known := (SELECT range_agg(int8range(l.fence, l.fence + 1)) FROM slipring.lease l
            WHERE l.queue_id = p_queue.queue_id AND l.fence < 0);
        IF v_known IS NOT NULL THEN
            v_state := slipring.taken_begin(v_state);
            v_state.taken := v_state.taken - v_known;
        END IF;
        v_state.fence := greatest(
            (SELECT max(l.fence) FROM slipring.lease l WHERE l.queue_id = p_queue.queue_id),
            (SELECT max(a.fence) FROM slipring.ack a WHERE a.queue_id = p_queue.queue_id),
            (SELECT max(p.fence) FROM slipring.item_picture p), slipring.fence_least(p_now_ms));
        PERFORM slipring.state_write(p_queue, v_state);
        RAISE WARNING 'slipring: queue %: the dump has no state of it; everything in its tables is '
            'ready, and messages that had been acked may come again', p_queue.name;
    END IF;
    -- Each of the three tables may have messages: that of the oldest generation which can be there,
    -- and that of the next one, are the one that is written next and the one after it.
    v_state := slipring.state_read(p_queue);
    v_state.seq := v_state.seq + 1;
    -- All leases are in the present generation of the journal, see generations_gather.
    v_state.journal := pg_sequence_last_value('slipring.journal');
    -- Of a set the state tells nothing, see store_import.
    IF NOT v_shared AND (v_low IS NULL OR v_state.generation_low < v_now - 2) THEN
        v_state.generation_low := greatest(v_now - 2, 0);
        v_state.generation_mark := NULL;
    END IF;
    PERFORM slipring.state_write(p_queue, v_state);
END $$;
