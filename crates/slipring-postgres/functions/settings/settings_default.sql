-- Purpose: every setting of a queue with its default, as programs write them.
-- Inputs:  none.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.settings_default()
RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT '{"visibility_timeout_ms": {{VISIBILITY_TIMEOUT_MS_DEFAULT}},
        "max_attempts": null, "backoff": {"kind": "none"},
        "dead_letter": null, "retention_ms": null, "delay_ms": 0, "durability": "full",
        "fifo": false, "dedup_window_ms": {{DEDUP_WINDOW_MS_DEFAULT}},
        "dedup_scope": "queue", "paused": false,
        "paused_until": null, "messages_max": null, "bytes_max": null,
        "message_bytes_max": {{MESSAGE_BYTES_MAX_DEFAULT}},
        "in_flight_max": {{IN_FLIGHT_MAX_DEFAULT}}, "attributes": {}}'::jsonb
$$;
