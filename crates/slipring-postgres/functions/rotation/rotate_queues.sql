-- Purpose: a step of the rotation of one queue's message tables: of the first one that is due one. Where
--          its tables hold much and none is due, its ready messages are counted.
-- Inputs:  p_after, the number of a queue: those with higher ones; the rest as store_rotate. The
--          transaction has no number yet.
-- Lock:    the caller holds the lock of rotation; the lock of the queue, see queue_try. Of a queue
--          with nothing to do all locks are given back at once.
-- Index:   queue_own, state_newest.
-- Answers: whether it did a step; and the queue to go on after, null when there is no other.
CREATE OR REPLACE FUNCTION slipring.rotate_queues(
    p_after int, p_now_ms bigint, p_bytes_min bigint, p_age_ms bigint,
    OUT done boolean, OUT after int)
LANGUAGE plpgsql AS $$
DECLARE
    v_row record;
    v_queue slipring.queue;
    v_began timestamptz := clock_timestamp();
BEGIN
    done := false;
    after := p_after;
    -- Of most queues there is nothing to rotate, which is found out without their locks. The
    -- generation that is written now is the oldest one or the one after it, and a step is due only
    -- where one of the two, or the one before them, holds enough; their sequences, each of which stays locked when it was
    -- read, are read of those only.
    FOR v_row IN
        SELECT q.queue_id, s.generation_mark IS NULL
            -- A queue that was deleted a moment ago has none.
            AND has_sequence_privilege(q.generation, 'SELECT') AND pg_sequence_last_value(q.generation) <> s.generation_low AS moved
        FROM slipring.queue q CROSS JOIN LATERAL (SELECT s.generation_mark, s.generation_low
            FROM state s WHERE s.queue_id = q.queue_id ORDER BY s.seq DESC LIMIT 1) s
        WHERE q.queue_id > p_after AND q.generation_low IS NULL
            AND slipring.rotation_worth(slipring.place_bytes(q.place), p_bytes_min)
        ORDER BY q.queue_id
    LOOP
        -- One queue is tried however long the look for it took. A mark has to be higher than what
        -- was read here: a transaction that has its number by now leaves such a queue to the next
        -- one.
        IF after > p_after AND slipring.turn_over(v_began)
            OR v_row.moved AND pg_current_xact_id_if_assigned() IS NOT NULL THEN
            RETURN;
        END IF;
        after := v_row.queue_id;
        BEGIN
            v_queue := slipring.queue_try(after,
                slipring.turn_wait(after, p_now_ms, {{QUEUE_WAIT_MS}}));
            IF v_queue.queue_id IS NOT NULL THEN
                done := slipring.rotate_queue(v_queue, v_row.moved, p_now_ms, p_bytes_min,
                    p_age_ms) OR slipring.queue_count(v_queue);
            END IF;
            IF NOT done THEN
                -- What a block has locked is given back where it fails.
                RAISE EXCEPTION USING ERRCODE = 'SR100';
            END IF;
            RETURN;
        EXCEPTION
            WHEN SQLSTATE 'SR100' OR SQLSTATE 'SR010' OR lock_not_available THEN
                -- SR010: restored and not imported; import comes first.
                done := false;
            WHEN OTHERS THEN
                IF slipring.row_fault(SQLSTATE) THEN
                    done := slipring.aside_caught(after, p_now_ms, SQLSTATE, SQLERRM);
                ELSIF SQLSTATE LIKE '53%' OR SQLSTATE LIKE '58%' THEN
                    -- No disk, no memory, no locks, a disk that fails: no other queue fares better.
                    RAISE;
                ELSE
                    RAISE WARNING 'slipring: the tables of queue % are not emptied for now: %', after,
                        SQLERRM;
                    done := false;
                END IF;
                IF done THEN
                    RETURN;
                END IF;
        END;
    END LOOP;
    after := NULL;
END $$;
