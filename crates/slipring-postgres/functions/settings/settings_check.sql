-- Purpose: checks the settings of a queue that are given by SQL: names, kinds and ranges. What
--          passes is what programs can read.
-- Inputs:  p_settings with every key; p_queue, the name of the queue, for errors.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.settings_check(p_settings jsonb, p_queue text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_bad text;
    v_bytes bigint;
BEGIN
    v_bad := (SELECT min(k) FROM jsonb_object_keys(p_settings) k
              WHERE NOT slipring.settings_default() ? k);
    IF v_bad IS NOT NULL THEN
        PERFORM slipring.fail('SR007', format('there is no setting %s; the settings are %s',
            slipring.name_shown(v_bad), (SELECT string_agg(k, ', ' ORDER BY k)
             FROM jsonb_object_keys(slipring.settings_default()) k)),
            jsonb_build_object('queue', p_queue));
    END IF;
    SELECT min(format('%s is %s; give a whole number from %s to %s', s.name,
        left((p_settings -> s.name)::text, {{SETTING_SHOWN_MAX}}), s.low, s.high))
    INTO v_bad
    FROM (VALUES ('visibility_timeout_ms', 0, {{DURATION_MS_MAX}}),
        ('delay_ms', 0, {{DURATION_MS_MAX}}), ('dedup_window_ms', 0, {{DURATION_MS_MAX}}),
        ('message_bytes_max', 1, 999000000), ('in_flight_max', 1, {{BIGINT_MAX}}),
        ('retention_ms', 0, {{DURATION_MS_MAX}}), ('max_attempts', 1, 1000000),
        ('messages_max', 0, {{BIGINT_MAX}}),
        ('bytes_max', 0, {{BIGINT_MAX}}), ('paused_until', 0, {{BIGINT_MAX}}))
        AS s(name, low, high)
    WHERE NOT slipring.settings_whole(p_settings -> s.name, s.low, s.high)
        AND NOT (p_settings -> s.name = 'null' AND s.name IN ('retention_ms', 'max_attempts',
            'messages_max', 'bytes_max', 'paused_until'));
    SELECT coalesce(v_bad, min(format('%s is %s; give %s', s.name, left((p_settings -> s.name)::text,
        {{SETTING_SHOWN_MAX}}), s.wanted))) INTO v_bad
    FROM (VALUES
        ('fifo', jsonb_typeof(p_settings -> 'fifo') = 'boolean', 'true or false'),
        ('paused', jsonb_typeof(p_settings -> 'paused') = 'boolean', 'true or false'),
        ('durability', p_settings -> 'durability' IN ('"full"', '"relaxed"'),
            '"full" or "relaxed"'),
        ('dedup_scope', p_settings -> 'dedup_scope' IN ('"queue"', '"group"'),
            '"queue" or "group"'),
        ('dead_letter', p_settings -> 'dead_letter' = 'null'
            OR jsonb_typeof(p_settings -> 'dead_letter') = 'string'
            AND slipring.queue_name_ok(p_settings ->> 'dead_letter'),
            'the name of a queue, or null'),
        ('attributes', jsonb_typeof(p_settings -> 'attributes') = 'object'
            AND NOT p_settings @? 'strict $.attributes.* ? (@.type() <> "string")',
            'an object of texts'),
        ('backoff', slipring.settings_backoff(p_settings -> 'backoff'), coalesce(
            slipring.settings_backoff_other(p_settings -> 'backoff'), '{"kind": "none"}, '
            '{"kind": "fixed", "delay_ms": n} or {"kind": "exponential", "base_ms": n, '
            '"max_ms": n}, n whole and from 0 to {{DURATION_MS_MAX}}, base_ms not above max_ms')))
        AS s(name, ok, wanted)
    WHERE s.ok IS NOT TRUE;
    IF v_bad IS NOT NULL THEN
        PERFORM slipring.fail('SR007', v_bad, jsonb_build_object('queue', p_queue));
    END IF;
    v_bytes := (SELECT sum(octet_length(a.key) + octet_length(a.value))
                FROM jsonb_each_text(p_settings -> 'attributes') a);
    IF v_bytes > {{ATTRIBUTES_BYTES_MAX}} THEN
        PERFORM slipring.fail_limit(p_queue, 'queue_attribute_bytes_max', {{ATTRIBUTES_BYTES_MAX}}, v_bytes);
    END IF;
END $$;
