-- Purpose: checks the settings of a queue that are given by SQL: names, kinds and ranges.
-- Inputs:  p_settings with every key.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.settings_check(p_settings jsonb)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_bad text;
    v_backoff jsonb := p_settings -> 'backoff';
BEGIN
    v_bad := (SELECT min(k) FROM jsonb_object_keys(p_settings) k
              WHERE NOT slipring.settings_default() ? k);
    IF v_bad IS NOT NULL THEN
        PERFORM slipring.fail('SR007', format('there is no setting %s; the settings are %s', v_bad,
            (SELECT string_agg(k, ', ' ORDER BY k)
             FROM jsonb_object_keys(slipring.settings_default()) k)), '{}');
    END IF;
    SELECT min(format('%s is %s; give %s to %s', s.name, p_settings -> s.name, s.low, s.high))
    INTO v_bad
    FROM (VALUES ('visibility_timeout_ms', 0, 4294967296000), ('delay_ms', 0, 4294967296000),
        ('dedup_window_ms', 0, 4294967296000), ('message_bytes_max', 1, 1072693248),
        ('in_flight_max', 1, 9223372036854775807), ('retention_ms', 0, 4294967296000),
        ('max_attempts', 1, 1000000), ('messages_max', 0, 9223372036854775807),
        ('bytes_max', 0, 9223372036854775807), ('paused_until', 0, 9223372036854775807))
        AS s(name, low, high)
    WHERE NOT coalesce(p_settings @? format('$."%s" ? (@ >= %s && @ <= %s && @ == @.floor())',
            s.name, s.low, s.high)::jsonpath, false)
        AND NOT (p_settings -> s.name = 'null' AND s.name IN ('retention_ms', 'max_attempts',
            'messages_max', 'bytes_max', 'paused_until'));
    IF v_bad IS NULL AND NOT (
            jsonb_typeof(p_settings -> 'fifo') = 'boolean'
            AND jsonb_typeof(p_settings -> 'paused') = 'boolean'
            AND p_settings ->> 'durability' IN ('full', 'relaxed')
            AND p_settings ->> 'dedup_scope' IN ('queue', 'group')
            AND jsonb_typeof(p_settings -> 'dead_letter') IN ('string', 'null')
            AND jsonb_typeof(p_settings -> 'attributes') = 'object') THEN
        v_bad := 'fifo and paused are true or false, durability is "full" or "relaxed", '
            'dedup_scope "queue" or "group", dead_letter a name or null, attributes an object';
    END IF;
    IF v_bad IS NULL AND NOT coalesce(CASE v_backoff ->> 'kind' WHEN 'none' THEN true
            WHEN 'fixed' THEN (v_backoff ->> 'delay_ms')::numeric BETWEEN 0 AND 4294967296000
            WHEN 'exponential' THEN (v_backoff ->> 'base_ms')::numeric
                BETWEEN 0 AND (v_backoff ->> 'max_ms')::numeric
                AND (v_backoff ->> 'max_ms')::numeric <= 4294967296000 END, false) THEN
        v_bad := 'backoff is {"kind": "none"}, {"kind": "fixed", "delay_ms": n} or {"kind": '
            '"exponential", "base_ms": n, "max_ms": n}';
    END IF;
    IF v_bad IS NOT NULL THEN
        PERFORM slipring.fail('SR007', v_bad, '{}');
    END IF;
END $$;
