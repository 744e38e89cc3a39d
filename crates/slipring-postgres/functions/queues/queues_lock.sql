-- Purpose: takes the locks of several queues, so that nobody waits for one while holding another.
-- Inputs:  p_queues, each once.
-- Lock:    the queues', to the end of the transaction. One is waited for and the others are tried;
--          when one of them is taken, all are given back and that one is waited for.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.queues_lock(p_queues int[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_first int := p_queues[1];
    v_queue int;
    v_taken int;
BEGIN
    IF cardinality(p_queues) < 2 THEN
        PERFORM slipring.queue_lock(v_first, false) WHERE v_first IS NOT NULL;
        RETURN;
    END IF;
    FOR v_try IN 1..1000 LOOP
        BEGIN
            PERFORM slipring.queue_lock(v_first, false);
            FOREACH v_queue IN ARRAY p_queues LOOP
                IF NOT slipring.queue_free(v_queue) THEN
                    v_taken := v_queue;
                    -- What a block has locked is given back where it fails.
                    RAISE EXCEPTION USING ERRCODE = 'SR100';
                END IF;
            END LOOP;
            RETURN;
        EXCEPTION WHEN SQLSTATE 'SR100' THEN
            v_first := v_taken;
        END;
    END LOOP;
    RAISE EXCEPTION USING ERRCODE = '55P03',
        MESSAGE = 'the queues are in use by other transactions; try again, queue by queue';
END $$;
