-- Purpose: one step of the rotation of the journal's tables, if one is due: those of
--          generation_step; then copy what is open, a part of one queue at a time, or many that are idle; let the old generation go;
--          empty it once nobody reads it any more.
-- Inputs:  as store_rotate.
-- Lock:    the caller holds the lock of rotation; that of the queue that is copied, see rotation_wait and journal_copy_idle;
--          see generation_empty.
-- Index:   queue_pkey, state_newest; see journal_idle.
-- Answers: as store_rotate.
CREATE OR REPLACE FUNCTION slipring.rotate_journal(
    p_after int, p_now_ms bigint, p_bytes_min bigint, p_age_ms bigint,
    OUT done boolean, OUT after int)
LANGUAGE plpgsql AS $$
DECLARE
    v_now bigint := pg_sequence_last_value('slipring.journal');
    v_low bigint := pg_sequence_last_value('slipring.journal_low');
    v_slot int := v_low % 3;
    v_queue slipring.queue;
BEGIN
    done := coalesce(slipring.generation_empty(v_low, slipring.journal_tables()),
        slipring.generation_step('slipring.journal', 'slipring.journal_low',
        'slipring.journal_mark', 'slipring.journal_since',
        -- A state of each queue is there always.
        (SELECT sum(pg_relation_size(format('slipring.%s_%s', t, v_slot)::regclass))::bigint
            FROM unnest(slipring.journal_tables()) t)
            - 512 * (SELECT coalesce(sum(p.queues), 0) FROM slipring.place p WHERE p.shared),
        slipring.journal_grew(v_slot), p_now_ms, p_bytes_min, p_age_ms, 'state'));
    IF done IS NOT NULL THEN
        RETURN;
    END IF;
    SELECT q.queue_id INTO after FROM slipring.queue q CROSS JOIN LATERAL (
            SELECT s.journal FROM slipring.state s WHERE s.queue_id = q.queue_id
            ORDER BY s.seq DESC LIMIT 1) s
        WHERE q.queue_id > p_after AND s.journal < v_now ORDER BY q.queue_id LIMIT 1;
    IF after IS NULL THEN
        -- Only a look from the first queue on shows that none is left. From now on nobody comes to
        -- the old generation, and those who are in it keep only the next one from beginning.
        done := p_after = 0;
        IF done THEN
            PERFORM setval('slipring.journal_low', v_now);
        END IF;
        RETURN;
    ELSIF slipring.journal_idle(after) THEN
        done := slipring.journal_copy_idle(after, v_now) > 0;
        IF done THEN
            RETURN;
        END IF;
    END IF;
    v_queue := slipring.queue_try(after,
        slipring.rotation_wait('slipring.journal_since', after, p_now_ms));
    done := v_queue.queue_id IS NOT NULL;
    IF done THEN
        BEGIN
            IF NOT slipring.journal_copy(v_queue, v_now, p_now_ms) THEN
                -- The next step goes on with it.
                after := greatest(after - 1, 0);
            END IF;
        EXCEPTION WHEN OTHERS THEN
            done := slipring.aside_caught(after, p_now_ms, SQLSTATE, SQLERRM);
        END;
    END IF;
END $$;
