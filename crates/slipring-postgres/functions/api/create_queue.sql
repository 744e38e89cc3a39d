-- Purpose: creates a queue, or finds the existing one with equal settings (S14.1, S14.2).
-- Inputs:  the queue's name, which makes it a FIFO queue where it ends in .fifo; settings that differ
--          from the defaults, as a JSON object: without them, one that exists is accepted as it is.
-- Lock:    see administration_lock; none where it is there.
-- Index:   queue_name.
-- Answers: whether it is new.
CREATE OR REPLACE FUNCTION slipring.create_queue(name text, settings jsonb DEFAULT NULL)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET jit = off AS $$
DECLARE
    v_settings jsonb := slipring.settings_default();
    v_created boolean;
BEGIN
    IF NOT slipring.queue_name_ok(name) THEN
        PERFORM slipring.fail('SR007', format('queue name %s is not 1 to {{QUEUE_NAME_MAX}} of a-z, A-Z, 0-9 '
            'and - + / ; . $ _ ( ), not beginning with -', slipring.name_shown(name)), '{}');
    END IF;
    IF name LIKE '%.fifo' THEN
        v_settings := v_settings || '{"fifo": true}';
    END IF;
    v_settings := slipring.settings_merge(v_settings, coalesce(settings, '{}'), name);
    SELECT q.created INTO v_created
    FROM slipring.store_create_queue(name, v_settings, slipring.now_ms()) q;
    RETURN v_created;
EXCEPTION WHEN SQLSTATE 'SR002' THEN
    IF settings IS NULL THEN
        RETURN false;
    END IF;
    RAISE;
END $$;
