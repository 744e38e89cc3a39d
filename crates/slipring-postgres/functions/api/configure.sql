-- Purpose: changes some of a queue's settings.
-- Inputs:  the queue's name; the settings to change, as a JSON object; null brings a default back.
-- Lock:    the queue's lock, to the end of the transaction.
-- Index:   queue_name.
-- Answers: all settings as they are now.
CREATE OR REPLACE FUNCTION slipring.configure(queue text, changes jsonb)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET jit = off AS $$
DECLARE
    v_queue slipring.queue := slipring.queue_named(configure.queue, 'admin');
    v_settings jsonb;
BEGIN
    PERFORM slipring.isolation_check();
    v_queue := slipring.queue_lock(v_queue.queue_id);
    v_settings := slipring.settings_merge(v_queue.settings, changes, v_queue.name);
    IF v_settings ->> 'dead_letter' <> coalesce(v_queue.dead_letter, '')
        AND NOT slipring.right_in_all('slipring.right_admin'::regtype) THEN
        -- What fails is sent there.
        PERFORM slipring.queue_named(v_settings ->> 'dead_letter', 'producer');
    END IF;
    RETURN (SELECT q.settings
            FROM slipring.store_configure(v_queue.queue_id, v_settings, slipring.now_ms()) q);
END $$;
