-- Purpose: ends the oldest load that nobody goes on with, or forgets a published one.
-- Inputs:  p_until_ms: loads that were touched later stay.
-- Lock:    as store_load_abandon.
-- Index:   see store_loads.
-- Answers: whether it has ended one, and when the next one was touched last.
CREATE OR REPLACE FUNCTION slipring.store_load_prune(
    p_until_ms bigint, OUT ended boolean, OUT next_ms bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, slipring, pg_temp AS $$
DECLARE
    v_load slipring.load;
BEGIN
    SELECT * INTO v_load FROM slipring.store_loads() l ORDER BY l.touched_ms LIMIT 1;
    next_ms := v_load.touched_ms;
    ended := next_ms <= p_until_ms;
    IF ended AND v_load.published THEN
        DELETE FROM slipring.load l WHERE l.load_id = v_load.load_id;
    ELSIF ended THEN
        PERFORM slipring.store_load_abandon(v_load.load_id);
    END IF;
END $$;
