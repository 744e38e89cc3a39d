-- Purpose: ends the oldest load that nobody goes on with and that is free, or forgets a published one.
-- Inputs:  p_until_ms: loads that were touched later stay.
-- Lock:    as store_load_abandon; both are tried.
-- Index:   see store_loads.
-- Answers: whether it has ended one; else when the next one that is not over was touched last.
CREATE OR REPLACE FUNCTION slipring.store_load_prune(
    p_until_ms bigint, OUT ended boolean, OUT next_ms bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, slipring, pg_temp AS $$
DECLARE
    v_load slipring.load;
BEGIN
    ended := false;
    FOR v_load IN SELECT * FROM slipring.store_loads() l ORDER BY l.touched_ms, l.load_id LOOP
        IF v_load.touched_ms > p_until_ms THEN
            next_ms := v_load.touched_ms;
            RETURN;
        END IF;
        -- A transaction may append to it, or have its queue, for as long as it likes: others are ended.
        PERFORM FROM slipring.load l WHERE l.load_id = v_load.load_id FOR UPDATE SKIP LOCKED;
        -- What was appended since the look keeps it.
        CONTINUE WHEN NOT FOUND OR EXISTS (SELECT FROM slipring.load_part p
            WHERE p.load_id = v_load.load_id AND p.appended_ms > p_until_ms);
        IF v_load.published THEN
            DELETE FROM slipring.load l WHERE l.load_id = v_load.load_id;
            ended := true;
        ELSIF slipring.queue_free(v_load.queue_id) THEN
            PERFORM slipring.store_load_abandon(v_load.load_id);
            ended := true;
        END IF;
        EXIT WHEN ended;
    END LOOP;
END $$;
