-- Purpose: the next step of a queue's move from one set of message tables to another:
--          0  find the set;
--          1  from now on readers look into both sets;
--          2  wait for transactions that may not know it; from now on senders write to the new one;
--          3  wait for transactions that may write to the old one, and until nothing of the queue is left
--             there: from now on readers look into the new one only;
--          4  the old set has a queue less.
-- Inputs:  p_move; p_running, see move_wait; p_now_ms; p_age_ms: after so long what is left in the old set is
--          moved to the shelf, a part at a time. The transaction has no number yet.
-- Lock:    the caller holds the lock of rotation; steps 1 to 3 the queue's, see queue_try; 0 and 4 that of
--          administration, which is only tried, and 0 those of place_add; each is waited for 50 ms at most.
-- Index:   place_move_pkey, queue_pkey; see place_left, queue_retire.
-- Answers: whether it did something.
CREATE OR REPLACE FUNCTION slipring.move_step(
    p_move slipring.place_move, p_running text[], p_now_ms bigint, p_age_ms bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_place int := p_move.place_to;
    v_noted boolean;
    v_left text;
    v_queue slipring.queue;
BEGIN
    PERFORM slipring.in_turn(0, {{LOCK_WAIT_MS}});
    IF p_move.step IN (0, 4) THEN
        LOCK TABLE slipring.lock_administration IN SHARE UPDATE EXCLUSIVE MODE NOWAIT;
        PERFORM FROM slipring.place_move m WHERE m.queue_id = p_move.queue_id AND m.step = p_move.step;
        IF NOT FOUND THEN
            -- The queue was deleted since the row was read, and with it what it counted for.
            RETURN false;
        ELSIF p_move.step = 0 THEN
            -- None for a queue that was being deleted when its move began.
            v_place := (SELECT CASE WHEN p.reserved THEN slipring.place_share(p_now_ms)
                    ELSE slipring.place_reserve(q.queue_id, p_now_ms) END
                FROM slipring.queue q JOIN slipring.place p ON p.place = p_move.place_from
                WHERE q.queue_id = p_move.queue_id);
        ELSE
            UPDATE slipring.place p SET queues = p.queues - 1 WHERE p.place = p_move.place_from;
        END IF;
        IF p_move.step = 4 OR v_place IS NULL THEN
            DELETE FROM slipring.place_move m WHERE m.queue_id = p_move.queue_id;
            RETURN true;
        END IF;
    ELSE
        IF p_move.step > 1 THEN
            v_noted := slipring.move_wait(p_move, p_running);
            IF v_noted IS NOT NULL THEN
                RETURN v_noted;
            END IF;
        END IF;
        IF p_move.step = 3 THEN
            -- No transaction writes to the old set any more, so a table in which nothing is left stays so.
            v_left := (SELECT t FROM slipring.queue q
                CROSS JOIN LATERAL unnest(slipring.place_tables(p_move.place_from)) t
                WHERE q.queue_id = p_move.queue_id AND slipring.place_left(q, t) LIMIT 1);
            IF v_left IS NOT NULL AND p_now_ms < p_move.since_ms + p_age_ms THEN
                RETURN false;
            END IF;
        END IF;
        v_queue := slipring.queue_try(p_move.queue_id,
            slipring.turn_wait(p_move.queue_id, p_now_ms, {{QUEUE_WAIT_MS}}));
        IF v_queue.queue_id IS NULL THEN
            RETURN false;
        ELSIF v_left IS NOT NULL THEN
            RETURN slipring.queue_retire(v_queue, v_left, true, p_move.since_ms, p_now_ms, p_age_ms);
        ELSIF p_move.step = 2 THEN
            UPDATE slipring.queue q SET place = v_place, place_also = p_move.place_from,
                generation = format('slipring.place_generation_%s', v_place)::regclass,
                generation_low = format('slipring.place_low_%s', v_place)::regclass
            WHERE q.queue_id = p_move.queue_id;
        ELSE
            UPDATE slipring.queue q SET place_also = CASE WHEN p_move.step = 1 THEN v_place END
            WHERE q.queue_id = p_move.queue_id;
        END IF;
    END IF;
    UPDATE slipring.place_move m SET step = m.step + 1, place_to = v_place, since_ms = p_now_ms,
        waits = NULL, mark = NULL
    WHERE m.queue_id = p_move.queue_id;
    RETURN true;
END $$;
