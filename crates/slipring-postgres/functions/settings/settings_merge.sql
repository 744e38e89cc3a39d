-- Purpose: settings of a queue with changes that are given by SQL; null stands for the default.
-- Inputs:  p_settings with every key; p_changes, which have to be an object; p_queue, the name of
--          the queue, for errors.
-- Lock:    none.
-- Index:   none.
-- Answers: the settings, checked; see settings_check.
CREATE OR REPLACE FUNCTION slipring.settings_merge(
    p_settings jsonb, p_changes jsonb, p_queue text)
RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
    IF p_changes IS NULL OR jsonb_typeof(p_changes) <> 'object' THEN
        PERFORM slipring.fail('SR007', format('settings are %s; give a JSON object',
            coalesce('a JSON ' || jsonb_typeof(p_changes), 'null')),
            jsonb_build_object('queue', p_queue));
    END IF;
    IF getdatabaseencoding() = 'SQL_ASCII' AND NOT slipring.text_is_utf8(p_changes::text) THEN
        PERFORM slipring.fail('SR007', 'a text of the settings is not UTF-8',
            jsonb_build_object('queue', p_queue));
    END IF;
    p_settings := p_settings || coalesce((
        SELECT jsonb_object_agg(c.key, CASE WHEN c.value = 'null'
            THEN coalesce(slipring.settings_default() -> c.key, 'null') ELSE c.value END)
        FROM jsonb_each(p_changes) c), '{}');
    PERFORM slipring.settings_check(p_settings, p_queue);
    RETURN p_settings;
END $$;
