-- Purpose: the queues that the caller may administer, and what each holds.
-- Inputs:  none.
-- Lock:    those of stats, given back after each queue.
-- Index:   queue_name; see store_stats, once for each queue.
-- Answers: by name; a queue whose statistics fail has nulls for them, and set_aside may mend it.
CREATE OR REPLACE FUNCTION slipring.queues()
RETURNS TABLE (queue text, fifo boolean, paused boolean, ready bigint, delayed bigint, leased bigint,
    parked bigint, bytes bigint, oldest_ready_at timestamptz, set_aside bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_now_ms bigint := slipring.now_ms();
    v_queue slipring.queue;
BEGIN
    PERFORM slipring.isolation_check();
    FOR v_queue IN SELECT q.* FROM slipring.queue q
        WHERE slipring.right_in_all('slipring.right_admin'::regtype)
            OR slipring.queue_right('admin', q.queue_id)
        ORDER BY q.name
    LOOP
        -- As it is where the look fails.
        ready := NULL;
        delayed := NULL;
        leased := NULL;
        parked := NULL;
        bytes := NULL;
        oldest_ready_at := NULL;
        BEGIN
            SELECT s.ready, s.delayed, s.leased, s.parked, s.bytes,
                to_timestamp(s.oldest_ready_ms / 1000.0)
            INTO ready, delayed, leased, parked, bytes, oldest_ready_at
            FROM slipring.store_stats(v_queue.queue_id, v_now_ms) s;
            -- What a block has locked is given back where it fails.
            RAISE EXCEPTION USING ERRCODE = 'SR100';
        EXCEPTION
            WHEN SQLSTATE 'SR100' THEN
                NULL;
            WHEN OTHERS THEN
                -- Errors that the queue is not to blame for: conflicts, limits, locks, a stop.
                IF SQLSTATE ~ '^(40|53|55|57)' THEN
                    RAISE;
                END IF;
                CONTINUE WHEN NOT EXISTS (
                    SELECT FROM slipring.queue q WHERE q.queue_id = v_queue.queue_id);
        END;
        queue := v_queue.name;
        fifo := v_queue.fifo;
        paused := slipring.queue_paused(v_queue, v_now_ms);
        set_aside := (SELECT count(*) FROM slipring.aside a WHERE a.queue_id = v_queue.queue_id);
        RETURN NEXT;
    END LOOP;
END $$;
