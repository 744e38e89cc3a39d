-- Purpose: copies what lives of a queue from an older generation of the shelf to the present one,
--          at most 250 pictures and about 4 MiB at a time.
-- Inputs:  p_queue; p_from, the slot that wants to be emptied; p_shelf, the present generation.
-- Lock:    the caller holds the queue's lock. Nobody writes to p_from any more.
-- Index:   item_sent of the slot, item_picture_N_newest, item_body_id; the new slot's grow.
CREATE OR REPLACE FUNCTION slipring.shelf_copy(
    p_queue slipring.queue, p_from int, p_shelf bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_copied slipring.mark := slipring.mark_read(p_queue.queue_id, 6);
    v_generation int8multirange := int8multirange(int8range(p_shelf, p_shelf + 1));
    v_last record;
    v_leased bigint;
BEGIN
    IF slipring.shelf_slot() <> p_shelf % 3 THEN
        RETURN;
    END IF;
    IF v_copied.unseen <> v_generation THEN
        v_copied.turn := {{BIGINT_MIN}};
        v_copied.id := v_copied.turn;
    END IF;
    -- The first one is taken whatever its size, so that it gets on.
    SELECT p.sent_ms, p.id INTO v_last FROM (
        SELECT p.sent_ms, p.id, sum(p.bytes) OVER (ORDER BY p.sent_ms, p.id
            ROWS UNBOUNDED PRECEDING) - p.bytes AS before
        FROM (SELECT p.sent_ms, p.id, p.bytes FROM item_picture p
              WHERE p.slot = p_from AND p.queue_id * 2::bigint = p_queue.queue_id * 2::bigint
                  AND p.state + 2 < 6 AND (p.sent_ms, p.id) > (v_copied.turn, v_copied.id)
              ORDER BY p.sent_ms, p.id LIMIT {{PICTURES_STEP}}) p) p
    WHERE NOT slipring.turn_over('infinity', p.before::bigint)
    ORDER BY p.sent_ms DESC, p.id DESC LIMIT 1;
    IF v_last IS NULL THEN
        SELECT {{BIGINT_MAX}} AS sent_ms, {{BIGINT_MAX}} AS id INTO v_last;
        PERFORM slipring.tally_fold(p_queue, 0);
        IF p_queue.fifo THEN
            -- Groups of which nothing lives here lose their pictures: what the log has of them gets
            -- its place first.
            PERFORM slipring.fifo_bring_in(p_queue, slipring.state_read(p_queue), 0);
        END IF;
        INSERT INTO slipring.mark (slot, queue_id, kind, seq, turn, id, unseen)
        SELECT p_shelf % 3, m.queue_id, m.kind, slipring.shelf_seq(m.seq), m.turn, m.id, m.unseen
        FROM unnest(ARRAY[0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11]) k
        CROSS JOIN LATERAL slipring.mark_read(p_queue.queue_id, k) m
        WHERE m.slot <> p_shelf % 3;
    ELSE
        v_leased := slipring.shelf_copy_items(v_copied, p_from, p_shelf, v_last.sent_ms,
            v_last.id);
        IF v_leased > 0 THEN
            -- A transaction with an older snapshot would not find their leases any more.
            PERFORM slipring.endings_note(p_queue, NULL);
        END IF;
    END IF;
    INSERT INTO slipring.mark (slot, queue_id, kind, seq, turn, id, unseen)
    VALUES (p_shelf % 3, p_queue.queue_id, 6, slipring.shelf_seq(v_copied.seq), v_last.sent_ms,
        v_last.id, v_generation);
END $$;
