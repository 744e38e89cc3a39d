-- Purpose: moves what one queue has left in the oldest of the tables that it shares to the shelf: of the
--          first queue that has something left and whose lock is free. Then others need not wait for
--          its consumers. A queue with a reserved set is waited for, as with tables of its own, until it
--          leaves the set.
-- Inputs:  p_place, to whose oldest generation no transaction writes any more; p_table, that
--          generation's; p_now_ms; p_age_ms: messages that were leased longer ago are moved as well.
-- Lock:    the queue's, see queue_try.
-- Index:   the table's order index, one step for each queue; see place_left.
-- Answers: moved, whether it did something; left, whether a queue may have something left.
CREATE OR REPLACE FUNCTION slipring.place_retire(
    p_place slipring.place_rotation, p_table text, p_now_ms bigint, p_age_ms bigint,
    OUT moved boolean, OUT left boolean)
LANGUAGE plpgsql AS $$
DECLARE
    v_began timestamptz := clock_timestamp();
    v_at int := p_place.passed;
    v_passed int := p_place.passed;
    v_reserved boolean := (SELECT p.reserved FROM slipring.place p WHERE p.place = p_place.place);
    v_queue slipring.queue;
    v_here boolean;
    v_held boolean := false;
BEGIN
    moved := false;
    "left" := false;
    LOOP
        -- The first lane of the next queue that has rows here.
        EXECUTE format('SELECT m.lane >> {{LANE_SHIFT}} FROM %s m WHERE m.lane >= $1
            ORDER BY m.lane, m.id LIMIT 1', p_table)
        INTO v_at USING (v_at + 1)::bigint << {{LANE_SHIFT}};
        EXIT WHEN v_at IS NULL OR moved;
        SELECT * INTO v_queue FROM slipring.queue q WHERE q.queue_id = v_at;
        -- Others have left the set, and are gone.
        v_here := coalesce(p_place.place IN (v_queue.place, v_queue.place_also), false);
        IF v_here THEN
            BEGIN
                v_here := slipring.place_left(v_queue, p_table);
                IF v_here THEN
                    v_queue := slipring.queue_try(v_at, CASE WHEN v_held THEN 1
                        ELSE slipring.turn_wait(v_at, p_now_ms, {{QUEUE_WAIT_MS}}) END);
                    IF v_queue.queue_id IS NULL AND NOT v_held THEN
                        -- Queues behind one that others keep have their turn as well.
                        v_held := true;
                        v_began := clock_timestamp();
                    END IF;
                    moved := v_queue.queue_id IS NOT NULL
                        AND slipring.queue_retire(v_queue, p_table,
                            NOT v_reserved OR v_queue.place <> p_place.place, p_place.since_ms,
                            p_now_ms, p_age_ms);
                END IF;
                IF NOT moved THEN
                    -- What a block has locked is given back where it fails.
                    RAISE EXCEPTION USING ERRCODE = 'SR100';
                END IF;
            EXCEPTION
                WHEN SQLSTATE 'SR100' OR SQLSTATE 'SR010' THEN
                    -- SR010: restored and not imported; import comes first.
                    moved := false;
                WHEN OTHERS THEN
                    moved := slipring.aside_caught(v_at, p_now_ms, SQLSTATE, SQLERRM);
            END;
        END IF;
        "left" := "left" OR v_here;
        IF NOT "left" THEN
            v_passed := v_at;
        END IF;
        IF slipring.turn_over(v_began) THEN
            "left" := true;
            EXIT;
        END IF;
    END LOOP;
    IF v_passed > p_place.passed THEN
        UPDATE slipring.place_rotation r SET passed = v_passed WHERE r.place = p_place.place;
        moved := true;
    END IF;
END $$;
