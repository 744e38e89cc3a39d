-- Purpose: creates a queue, or answers the existing one with equal settings (S14.2).
-- Inputs:  p_name, checked; p_settings with every key; p_now_ms.
-- Lock:    see administration_lock; none where it is there.
-- Index:   queue_name; see queue_tables.
CREATE OR REPLACE FUNCTION slipring.store_create_queue(
    p_name text, p_settings jsonb, p_now_ms bigint)
RETURNS TABLE (queue_id int, name text, settings jsonb, created_ms bigint, modified_ms bigint,
    created boolean)
LANGUAGE plpgsql
SET search_path = pg_catalog, slipring, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_queue slipring.queue;
BEGIN
    IF (SELECT s.home_at <> s.written_at FROM slipring.store s) THEN
        PERFORM slipring.import_needed(jsonb_build_object('queue', p_name));
    END IF;
    SELECT * INTO v_queue FROM slipring.queue q WHERE q.name = p_name;
    IF v_queue.queue_id IS NULL THEN
        PERFORM slipring.administration_lock();
        SELECT * INTO v_queue FROM slipring.queue q WHERE q.name = p_name;
    END IF;
    IF v_queue.queue_id IS NOT NULL THEN
        IF v_queue.settings <> p_settings THEN
            PERFORM slipring.fail('SR002', format('queue %s exists with other settings', p_name),
                jsonb_build_object('queue', p_name, 'settings',
                    (SELECT string_agg(s.key, ', ' ORDER BY s.key) FROM jsonb_each(p_settings) s
                     WHERE v_queue.settings -> s.key IS DISTINCT FROM s.value)));
        END IF;
        RETURN QUERY SELECT v_queue.queue_id, v_queue.name, v_queue.settings,
            v_queue.created_ms, v_queue.modified_ms, false;
        RETURN;
    END IF;
    v_queue := slipring.settings_fill(v_queue, p_settings);
    v_queue.queue_id := nextval(pg_get_serial_sequence('slipring.queue', 'queue_id'));
    v_queue.name := p_name;
    v_queue.created_ms := p_now_ms;
    v_queue.modified_ms := p_now_ms;
    v_queue.xid_base := (SELECT s.xid_base FROM slipring.store s);
    v_queue := slipring.queue_tables(v_queue, p_now_ms);
    v_queue.lock_key := hashtextextended(gen_random_uuid()::text, 0);
    v_queue.activity := format('slipring.activity_%s', v_queue.queue_id % 16)::regclass;
    BEGIN
        PERFORM slipring.queue_add(v_queue);
    EXCEPTION WHEN unique_violation THEN
        -- Nobody else creates under the lock: what the snapshot did not see came before it.
        RAISE EXCEPTION USING ERRCODE = '40001', MESSAGE = format('queue %s was created since the '
            'transaction''s snapshot; try the transaction again', p_name);
    END;
    PERFORM slipring.state_begin(v_queue, p_now_ms);
    RETURN QUERY SELECT v_queue.queue_id, v_queue.name, v_queue.settings,
        v_queue.created_ms, v_queue.modified_ms, true;
END $$;
