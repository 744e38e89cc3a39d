-- Purpose: ends an open load, of which nothing is left.
-- Inputs:  the load's number.
-- Lock:    the load's lock alone; then the queue's, to the end of the transaction.
-- Index:   as store_load_abandon.
CREATE OR REPLACE FUNCTION slipring.load_abandon(load bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, slipring, pg_temp
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    PERFORM slipring.load_alone('load_abandon'), slipring.load_allow($1),
        slipring.store_load_abandon($1);
END $$;
