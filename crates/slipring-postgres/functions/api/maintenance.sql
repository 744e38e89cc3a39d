-- Purpose: what background work there is now: for each step of it the arguments of maintain_step.
-- Inputs:  none.
-- Lock:    none.
-- Index:   see store_deadlines; queue_retention.
-- Answers: due and lapse with a queue's number, where something is due or lapses by now; retention
--          with each queue that forgets messages; the parts of the rotation and load with 0.
CREATE OR REPLACE FUNCTION slipring.maintenance()
RETURNS TABLE (step text, at int)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_now bigint := slipring.now_ms();
    v_after int := 0;
    v_row record;
BEGIN
    WHILE v_after IS NOT NULL LOOP
        FOR v_row IN SELECT * FROM slipring.store_deadlines(v_after, 500) LOOP
            v_after := CASE WHEN coalesce(v_row.due_ms, v_row.lapse_ms) IS NULL
                THEN v_row.queue END;
            RETURN QUERY SELECT s.step, v_row.queue
            FROM (VALUES ('due', v_row.due_ms), ('lapse', v_row.lapse_ms)) AS s(step, ms)
            WHERE s.ms <= v_now;
        END LOOP;
        EXIT WHEN NOT FOUND;
    END LOOP;
    RETURN QUERY SELECT 'retention', q.queue_id FROM slipring.queue q
    WHERE q.retention_ms IS NOT NULL ORDER BY q.queue_id;
    RETURN QUERY SELECT p, 0
    FROM unnest(ARRAY['queues', 'shared', 'moves', 'journal', 'shelf', 'dedup', 'places',
        'load']) p;
END $$;
