-- Purpose: which queues have something to do and when, a part at a time.
-- Inputs:  p_after, the number of a queue: those with higher ones; p_limit, how many queues to look
--          at.
-- Lock:    none.
-- Index:   see queue_stirring; queue_pkey, state_newest; for queues that have had messages on the shelf
--          mark_newest, and see items_next. Of a queue that has neither leases nor pictures nothing is read.
-- Answers: a row for each queue that has a next moment: when a message is due or a pause ends, and
--          when a lease lapses; none of them comes too late. In a row without moments, when there
--          may be more queues, the last one that was looked at.
CREATE OR REPLACE FUNCTION slipring.store_deadlines(p_after int, p_limit int)
RETURNS TABLE (queue int, due_ms bigint, lapse_ms bigint)
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
SET search_path = pg_catalog, slipring, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_row record;
BEGIN
    queue := p_after;
    FOR v_looked IN 1..p_limit LOOP
        queue := slipring.queue_stirring(queue);
        IF queue IS NULL THEN
            RETURN;
        END IF;
        SELECT CASE WHEN NOT q.pause_over THEN q.paused_until_ms END AS pause_ms,
            CASE WHEN s.taken IS NULL AND NOT slipring.taken_expected(q.queue_id) THEN s.lapse_ms
                ELSE (slipring.state_read(q)).lapse_ms END AS lapse_ms,
            -- As values: for EXISTS all rows of all queues may be read.
            coalesce((SELECT true FROM tally_sum t WHERE t.queue_id = q.queue_id LIMIT 1),
                (SELECT true FROM tally t WHERE t.queue_id = q.queue_id LIMIT 1), false)
                AS shelved
        INTO v_row
        FROM slipring.queue q CROSS JOIN LATERAL (
            SELECT s.lapse_ms, s.taken FROM state s WHERE s.queue_id = q.queue_id
            ORDER BY s.seq DESC LIMIT 1) s
        WHERE q.queue_id = store_deadlines.queue;
        -- What a deleted queue has left is there for a while.
        CONTINUE WHEN NOT FOUND;
        due_ms := v_row.pause_ms;
        lapse_ms := v_row.lapse_ms;
        IF v_row.shelved THEN
            due_ms := least(due_ms, slipring.items_next(slipring.mark_read(queue, 0)));
            lapse_ms := least(lapse_ms, slipring.items_next(slipring.mark_read(queue, 2)));
        END IF;
        IF due_ms IS NOT NULL OR lapse_ms IS NOT NULL THEN
            RETURN NEXT;
        END IF;
    END LOOP;
    due_ms := NULL;
    lapse_ms := NULL;
    RETURN NEXT;
END $$;
