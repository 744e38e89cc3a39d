-- Purpose: every setting of a queue with its default, as programs write them.
-- Inputs:  none.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.settings_default()
RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT '{"visibility_timeout_ms": 30000, "max_attempts": null, "backoff": {"kind": "none"},
        "dead_letter": null, "retention_ms": null, "delay_ms": 0, "durability": "full",
        "fifo": false, "dedup_window_ms": 300000, "dedup_scope": "queue", "paused": false,
        "paused_until": null, "messages_max": null, "bytes_max": null,
        "message_bytes_max": 1048576, "in_flight_max": 120000, "attributes": {}}'::jsonb
$$;
