-- Purpose: removes every message of a queue, in whatever state (S14.5).
-- Inputs:  the queue's name.
-- Lock:    the queue's lock, to the end of the transaction.
-- Index:   see remove_old.
-- Answers: how many.
CREATE OR REPLACE FUNCTION slipring.purge(queue text)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET jit = off AS $$
DECLARE
    v_queue slipring.queue := slipring.queue_named(purge.queue, 'admin');
    v_now_ms bigint := slipring.now_ms();
    v_step bigint;
    v_all bigint := 0;
BEGIN
    PERFORM slipring.isolation_check();
    LOOP
        v_step := slipring.store_purge(v_queue.queue_id, {{BATCH_MESSAGES_MAX}}, v_now_ms);
        EXIT WHEN v_step = 0;
        v_all := v_all + v_step;
    END LOOP;
    RETURN v_all;
END $$;
