-- Purpose: a step of the moves of queues between sets of message tables: of the first queue that can do one;
--          with none, begins the move of queues that need their reserved set no longer.
-- Inputs:  p_after, the number of a queue: those with higher ones; the rest as store_rotate. The
--          transaction has no number yet.
-- Lock:    the caller holds the lock of rotation; see move_step. Of a queue with nothing to do all locks are
--          given back at once.
-- Index:   place_move_pkey, place_shared.
-- Answers: whether it did a step; and the queue to go on after, null when there is no other.
CREATE OR REPLACE FUNCTION slipring.rotate_moves(
    p_after int, p_now_ms bigint, p_bytes_min bigint, p_age_ms bigint,
    OUT done boolean, OUT after int)
LANGUAGE plpgsql AS $$
DECLARE
    v_began timestamptz := clock_timestamp();
    v_running text[];
    v_move slipring.place_move;
BEGIN
    done := false;
    after := p_after;
    IF (SELECT s.home_at <> s.written_at FROM slipring.store s) THEN
        after := NULL;
        RETURN;
    END IF;
    FOR v_move IN SELECT * FROM slipring.place_move m WHERE m.queue_id > p_after ORDER BY m.queue_id
    LOOP
        -- What is waited for is noted later than the step before was committed: a transaction that has its
        -- number by now may have done that.
        IF after > p_after AND slipring.turn_over(v_began)
            OR pg_current_xact_id_if_assigned() IS NOT NULL THEN
            RETURN;
        END IF;
        after := v_move.queue_id;
        v_running := coalesce(v_running, slipring.move_running());
        BEGIN
            done := slipring.move_step(v_move, v_running, p_now_ms, p_age_ms);
            IF NOT done THEN
                -- What a block has locked is given back where it fails.
                RAISE EXCEPTION USING ERRCODE = 'SR100';
            END IF;
            RETURN;
        EXCEPTION
            WHEN SQLSTATE 'SR100' OR lock_not_available THEN
                done := false;
            WHEN OTHERS THEN
                -- The parts of the rotation that follow are those of all queues.
                IF slipring.row_fault(SQLSTATE) THEN
                    done := slipring.aside_caught(after, p_now_ms, SQLSTATE, SQLERRM);
                ELSE
                    RAISE WARNING 'slipring: queue % stays in its message tables for now: %', after,
                        SQLERRM;
                    done := false;
                END IF;
                IF done THEN
                    RETURN;
                END IF;
        END;
    END LOOP;
    -- Much less is written to it, and for longer, than what makes a queue grow: it does not come and go.
    INSERT INTO slipring.place_move (queue_id, place_from)
    SELECT q.queue_id, p.place
    FROM slipring.place p JOIN slipring.place_rotation r ON r.place = p.place
    JOIN slipring.queue q ON q.queue_id = p.queue_id AND q.place = p.place AND q.place_also IS NULL
    WHERE p.shared AND p.reserved AND p.queues > 0 AND p_now_ms >= r.since_ms + 10 * p_age_ms
        AND NOT EXISTS (SELECT FROM slipring.place_move m WHERE m.queue_id = q.queue_id)
        AND NOT slipring.rotation_worth(slipring.place_bytes(p.place), p_bytes_min);
    done := FOUND;
    after := NULL;
END $$;
