-- Purpose: replaces a queue's settings, which every change makes younger by a millisecond at least.
-- Inputs:  p_queue; p_settings with every key; p_now_ms; p_seen_ms, how old they must be still, or
--          null.
-- Lock:    the queue's lock.
-- Index:   queue_pkey.
CREATE OR REPLACE FUNCTION slipring.store_configure(
    p_queue int, p_settings jsonb, p_now_ms bigint, p_seen_ms bigint DEFAULT NULL)
RETURNS TABLE (queue_id int, name text, settings jsonb, created_ms bigint, modified_ms bigint,
    done boolean)
LANGUAGE plpgsql
SET search_path = pg_catalog, slipring, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_queue slipring.queue := slipring.queue_lock(p_queue);
    v_fifo boolean := v_queue.fifo;
BEGIN
    IF v_queue.modified_ms <> p_seen_ms THEN
        RETURN QUERY SELECT v_queue.queue_id, v_queue.name, v_queue.settings,
            v_queue.created_ms, v_queue.modified_ms, false;
        RETURN;
    END IF;
    v_queue := slipring.settings_fill(v_queue, p_settings);
    IF v_queue.fifo <> v_fifo THEN
        PERFORM slipring.fail('SR007',
            'fifo is fixed when a queue is created; make another queue',
            jsonb_build_object('queue', v_queue.name));
    END IF;
    UPDATE slipring.queue q SET
        settings = v_queue.settings, modified_ms = greatest(p_now_ms, q.modified_ms + 1),
        visibility_timeout_ms = v_queue.visibility_timeout_ms,
        max_attempts = v_queue.max_attempts, backoff_kind = v_queue.backoff_kind,
        backoff_base_ms = v_queue.backoff_base_ms, backoff_max_ms = v_queue.backoff_max_ms,
        dead_letter = v_queue.dead_letter, retention_ms = v_queue.retention_ms,
        delay_ms = v_queue.delay_ms, relaxed = v_queue.relaxed,
        dedup_window_ms = v_queue.dedup_window_ms, dedup_by_group = v_queue.dedup_by_group,
        paused = v_queue.paused, paused_until_ms = v_queue.paused_until_ms, pause_over = false,
        messages_max = v_queue.messages_max, bytes_max = v_queue.bytes_max,
        message_bytes_max = v_queue.message_bytes_max, in_flight_max = v_queue.in_flight_max
    WHERE q.queue_id = p_queue;
    PERFORM nextval(v_queue.activity);
    RETURN QUERY SELECT q.queue_id, q.name, q.settings, q.created_ms, q.modified_ms, true
    FROM slipring.queue q WHERE q.queue_id = p_queue;
END $$;
