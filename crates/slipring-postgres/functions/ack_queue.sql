-- Purpose: acks messages of one queue inside the caller's transaction.
-- Inputs:  p_queue; p_messages with p_fences.
-- Lock:    the leases' locks, shared.
-- Index:   lease_newest, item_picture_N_newest; ack's indexes grow, and make who acks the same
--          wait; those of the older slot as well while the journal moves.
CREATE OR REPLACE FUNCTION slipring.ack_queue(
    p_queue int, p_messages bigint[], p_fences bigint[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_queue slipring.queue;
    v_state slipring.state;
    v_before bigint;
    v_lost bigint;
    v_now bigint;
    v_added bigint;
BEGIN
    SELECT * INTO v_queue FROM slipring.queue q WHERE q.queue_id = p_queue;
    IF v_queue.queue_id IS NULL THEN
        PERFORM slipring.message_gone(p_messages[1]);
    END IF;
    PERFORM pg_advisory_xact_lock_shared(k.key)
    FROM (SELECT DISTINCT slipring.lease_key(p_queue, a.fence, a.message) AS key
          FROM unnest(p_messages, p_fences) AS a(message, fence) ORDER BY key) k;
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted')
    THEN
        v_state := slipring.state_read(v_queue);
        IF v_state.endings <> pg_sequence_last_value(v_queue.endings) THEN
            RAISE EXCEPTION USING ERRCODE = '40001', MESSAGE = 'leases of the queue have ended '
                'since the transaction''s snapshot; try the transaction again';
        END IF;
    END IF;
    WITH l AS MATERIALIZED (
        SELECT * FROM slipring.lease_newest(p_queue, p_fences) WHERE n > 0)
    SELECT min(a.message) INTO v_lost
    FROM unnest(p_messages, p_fences) AS a(message, fence)
    WHERE NOT EXISTS (SELECT FROM l WHERE l.fence = a.fence AND a.message <@ l.open)
        AND NOT EXISTS (SELECT FROM slipring.item_now(a.message) i
            WHERE i.queue_id = p_queue AND i.fence = a.fence AND i.state = 2);
    IF v_lost IS NOT NULL THEN
        PERFORM slipring.ack_refused(v_queue, v_lost);
    END IF;
    v_before := slipring.id_take(v_queue, cardinality(p_messages));
    v_now := pg_sequence_last_value('slipring.journal');
    -- While somebody may still write to the older generation only, an ack is entered there as well,
    -- and first: what each of two enters meets the other's. Its number keeps acks_in from it.
    FOR v_generation IN greatest(pg_sequence_last_value('slipring.journal_low'), v_now - 1)..v_now
    LOOP
        INSERT INTO slipring.ack
        SELECT v_generation % 3, p_queue, CASE WHEN v_generation = v_now THEN v_before + a.n
            ELSE -1 END, a.message, a.fence
        FROM unnest(p_messages, p_fences) WITH ORDINALITY AS a(message, fence, n)
        WHERE NOT EXISTS (SELECT FROM slipring.ack d WHERE d.message_id = a.message
            AND d.fence = a.fence AND (d.id >= 0 OR v_generation < v_now))
        ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS v_added = ROW_COUNT;
        IF v_added < cardinality(p_messages) THEN
            PERFORM slipring.fail('SR003', 'a message of these receipts was acked before',
                jsonb_build_object('queue', v_queue.name));
        END IF;
    END LOOP;
END $$;
