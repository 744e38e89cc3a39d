-- Purpose: the columns of a queue's row that repeat its settings.
-- Inputs:  p_queue, the row; p_settings as programs write them.
-- Lock:    none; nothing is written.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.settings_fill(p_queue slipring.queue, p_settings jsonb)
RETURNS slipring.queue LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_backoff jsonb := coalesce(p_settings -> 'backoff', '{}');
BEGIN
    p_queue.settings := p_settings;
    p_queue.visibility_timeout_ms :=
        coalesce((p_settings ->> 'visibility_timeout_ms')::bigint, {{VISIBILITY_TIMEOUT_MS_DEFAULT}});
    p_queue.max_attempts := (p_settings ->> 'max_attempts')::bigint;
    p_queue.backoff_kind := coalesce(v_backoff ->> 'kind', 'none');
    p_queue.backoff_base_ms :=
        coalesce((v_backoff ->> 'base_ms')::bigint, (v_backoff ->> 'delay_ms')::bigint, 0);
    p_queue.backoff_max_ms := coalesce((v_backoff ->> 'max_ms')::bigint, 0);
    p_queue.dead_letter := p_settings ->> 'dead_letter';
    p_queue.retention_ms := (p_settings ->> 'retention_ms')::bigint;
    p_queue.delay_ms := coalesce((p_settings ->> 'delay_ms')::bigint, 0);
    p_queue.relaxed := coalesce(p_settings ->> 'durability' = 'relaxed', false);
    p_queue.fifo := coalesce((p_settings ->> 'fifo')::boolean, false);
    p_queue.dedup_window_ms := coalesce((p_settings ->> 'dedup_window_ms')::bigint,
        {{DEDUP_WINDOW_MS_DEFAULT}});
    p_queue.dedup_by_group := coalesce(p_settings ->> 'dedup_scope' = 'group', false);
    p_queue.paused := coalesce((p_settings ->> 'paused')::boolean, false);
    p_queue.paused_until_ms := (p_settings ->> 'paused_until')::bigint;
    p_queue.pause_over := false;
    p_queue.messages_max := slipring.settings_number(p_settings, 'messages_max');
    p_queue.bytes_max := slipring.settings_number(p_settings, 'bytes_max');
    p_queue.message_bytes_max :=
        coalesce(slipring.settings_number(p_settings, 'message_bytes_max'),
            {{MESSAGE_BYTES_MAX_DEFAULT}});
    p_queue.in_flight_max :=
        coalesce(slipring.settings_number(p_settings, 'in_flight_max'), {{IN_FLIGHT_MAX_DEFAULT}});
    RETURN p_queue;
END $$;
