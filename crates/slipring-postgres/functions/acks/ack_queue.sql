-- Purpose: acks messages of one queue inside the caller's transaction.
-- Inputs:  p_queue; p_messages with p_fences.
-- Lock:    see ack_locks, ack_whole, ack_enter.
-- Index:   see lease_find; item_picture_N_newest; see ack_whole, ack_enter.
CREATE OR REPLACE FUNCTION slipring.ack_queue(
    p_queue int, p_messages bigint[], p_fences bigint[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_queue slipring.queue;
    v_before bigint;
    v_lost bigint;
    v_now bigint;
    v_from bigint;
    v_added bigint;
    v_whole bigint[];
    v_ids int8multirange[];
BEGIN
    SELECT * INTO v_queue FROM slipring.queue q WHERE q.queue_id = p_queue;
    IF v_queue.queue_id IS NULL THEN
        PERFORM slipring.message_gone(p_messages[1]);
    ELSIF NOT slipring.right_in_all('slipring.right_consumer'::regtype) THEN
        PERFORM slipring.queue_allow('consumer', v_queue);
    END IF;
    PERFORM slipring.ack_locks(v_queue, p_messages, p_fences);
    IF NOT slipring.read_committed() THEN
        v_from := slipring.ack_older(v_queue);
    END IF;
    SELECT array_agg(w.fence), array_agg(w.ids) INTO v_whole, v_ids
    FROM slipring.ack_whole(v_queue, p_messages, p_fences) w;
    SELECT min(a.message) INTO v_lost
    FROM slipring.lease_find(p_queue, p_messages, p_fences) a
    WHERE a.lane IS NULL AND NOT EXISTS (SELECT FROM slipring.item_now(a.message) i
        WHERE i.queue_id = p_queue AND i.fence = a.fence AND i.state = 2
            AND (NOT v_queue.fifo OR slipring.now_ms() < i.turn) OFFSET 0);
    IF v_lost IS NOT NULL THEN
        PERFORM slipring.ack_refused(v_queue, v_lost,
            p_fences[array_position(p_messages, v_lost)]);
    END IF;
    v_before := slipring.id_take(v_queue, cardinality(p_messages));
    v_now := pg_sequence_last_value('slipring.journal');
    -- While somebody may still write to the older generation only, an ack is entered there as well,
    -- and first: what each of two enters meets the other's. Its number keeps acks_in from it.
    -- An older snapshot's acks go to where it has its leases, too, as long as that is there.
    FOR v_generation IN least(v_from,
            greatest(pg_sequence_last_value('slipring.journal_low'), v_now - 1))..v_now
    LOOP
        v_added := slipring.ack_enter(p_queue, v_generation,
            CASE WHEN v_generation = v_now THEN v_before END, p_messages, p_fences, v_whole,
            v_ids);
        IF v_added < cardinality(p_messages) THEN
            -- Of what others have entered; this call's own numbers are past v_before.
            PERFORM slipring.message_gone(coalesce((
                SELECT min(a.message) FROM unnest(p_messages, p_fences) AS a(message, fence)
                WHERE EXISTS (SELECT FROM ack d
                    WHERE d.fence = a.fence AND d.message_id IN (0, a.message)
                        AND (d.message_id > 0 OR a.message <@ d.ids) AND d.id >= 0
                        AND d.id NOT BETWEEN v_before + 1
                            AND v_before + cardinality(p_messages))), p_messages[1]),
                v_queue.name);
        END IF;
    END LOOP;
END $$;
