-- Purpose: makes all messages of a load ready at one moment: that of the commit.
-- Inputs:  the load's number; messages, how many there have to be.
-- Lock:    the load's lock alone: it waits for the transactions that append to it. Then the
--          queue's lock, to the end of the transaction.
-- Index:   as store_load_publish.
-- Answers: how many there are.
CREATE OR REPLACE FUNCTION slipring.load_publish(load bigint, messages bigint)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, slipring, pg_temp
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    PERFORM slipring.load_alone('load_publish'), slipring.load_allow($1);
    IF $2 IS NULL THEN
        PERFORM slipring.fail('SR007', 'messages is null; give the number of messages that the '
            'load has', jsonb_build_object('load', $1));
    END IF;
    RETURN (slipring.store_load_publish($1, $2, slipring.now_ms())).messages;
END $$;
