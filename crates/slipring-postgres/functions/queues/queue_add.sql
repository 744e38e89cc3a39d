-- Purpose: writes the row of a new queue.
-- Inputs:  p_queue; when it was written is not among it, see moment_now.
-- Lock:    the caller holds the lock of administration.
-- Index:   queue_pkey, queue_name.
CREATE OR REPLACE FUNCTION slipring.queue_add(p_queue slipring.queue)
RETURNS void LANGUAGE sql AS $$
    INSERT INTO slipring.queue (
        queue_id, name, settings, created_ms, modified_ms, xid_base, place, generation, endings,
        activity, lanes, visibility_timeout_ms, max_attempts, backoff_kind, backoff_base_ms,
        backoff_max_ms, dead_letter, retention_ms, delay_ms, relaxed, fifo, dedup_window_ms,
        dedup_by_group, paused, paused_until_ms, pause_over, messages_max, bytes_max,
        message_bytes_max, in_flight_max, ids_ended, ids_until_ms, lock_key, lane_base,
        generation_low)
    OVERRIDING SYSTEM VALUE
    SELECT ($1).queue_id, ($1).name, ($1).settings, ($1).created_ms, ($1).modified_ms, ($1).xid_base,
        ($1).place, ($1).generation, ($1).endings, ($1).activity, ($1).lanes,
        ($1).visibility_timeout_ms, ($1).max_attempts, ($1).backoff_kind, ($1).backoff_base_ms,
        ($1).backoff_max_ms, ($1).dead_letter, ($1).retention_ms, ($1).delay_ms, ($1).relaxed,
        ($1).fifo, ($1).dedup_window_ms, ($1).dedup_by_group, ($1).paused, ($1).paused_until_ms,
        ($1).pause_over, ($1).messages_max, ($1).bytes_max, ($1).message_bytes_max,
        ($1).in_flight_max, ($1).ids_ended, ($1).ids_until_ms, ($1).lock_key,
        ($1).lane_base, ($1).generation_low
$$;
