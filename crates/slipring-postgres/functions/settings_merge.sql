-- Purpose: settings of a queue with changes that are given by SQL; null stands for the default.
-- Inputs:  p_settings with every key; p_changes, which have to be an object.
-- Lock:    none.
-- Index:   none.
-- Answers: the settings, checked; see settings_check.
CREATE OR REPLACE FUNCTION slipring.settings_merge(p_settings jsonb, p_changes jsonb)
RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
    IF p_changes IS NULL OR jsonb_typeof(p_changes) <> 'object' THEN
        PERFORM slipring.fail('SR007', format('settings are %s; give a JSON object',
            coalesce('a JSON ' || jsonb_typeof(p_changes), 'null')), '{}');
    END IF;
    p_settings := p_settings || coalesce((
        SELECT jsonb_object_agg(c.key, CASE WHEN c.value = 'null'
            THEN coalesce(slipring.settings_default() -> c.key, 'null') ELSE c.value END)
        FROM jsonb_each(p_changes) c), '{}');
    PERFORM slipring.settings_check(p_settings);
    RETURN p_settings;
END $$;
