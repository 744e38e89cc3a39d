-- Purpose: what background work there is now: for each step of it the arguments of maintain_step.
-- Inputs:  none.
-- Lock:    none.
-- Index:   see store_deadlines; queue_retention.
-- Answers: due and lapse with a queue's number, where something is due or lapses by now; the parts of the rotation and
--          load with 0; retention with each queue that forgets messages. Any of the three is the first, and of the queues
--          any one: who has no time for all of them does not always do the same.
CREATE OR REPLACE FUNCTION slipring.maintenance()
RETURNS TABLE (step text, at int)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_now bigint := slipring.now_ms();
    v_after int := 0;
    v_row record;
    v_kind int := floor(random() * 3);
    v_first int := (SELECT random() * max(q.queue_id) FROM slipring.queue q);
    v_steps text[] := '{}';
    v_queues int[] := '{}';
BEGIN
    WHILE v_after IS NOT NULL LOOP
        FOR v_row IN SELECT * FROM slipring.store_deadlines(v_after, {{DEADLINES_STEP}}) LOOP
            v_after := CASE WHEN coalesce(v_row.due_ms, v_row.lapse_ms) IS NULL
                THEN v_row.queue END;
            IF v_row.due_ms <= v_now THEN
                v_steps := v_steps || 'due'::text;
                v_queues := v_queues || v_row.queue;
            END IF;
            IF v_row.lapse_ms <= v_now THEN
                v_steps := v_steps || 'lapse'::text;
                v_queues := v_queues || v_row.queue;
            END IF;
        END LOOP;
        EXIT WHEN NOT FOUND;
    END LOOP;
    RETURN QUERY SELECT s.step, s.at FROM (
        SELECT 0 AS kind, d.step, d.queue AS at, d.n FROM unnest(v_steps, v_queues) WITH ORDINALITY d(step, queue, n)
        UNION ALL
        SELECT 1, p.step, 0, p.n FROM unnest(ARRAY['queues', 'shared', 'moves', 'journal', 'shelf',
            'dedup', 'places', 'load']) WITH ORDINALITY p(step, n)
        UNION ALL
        SELECT 2, 'retention', q.queue_id, 0 FROM slipring.queue q WHERE q.retention_ms IS NOT NULL) s
    ORDER BY (s.kind + v_kind) % 3, s.at < v_first, s.at, s.n;
END $$;
