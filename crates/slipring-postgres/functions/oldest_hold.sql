-- Purpose: keeps the oldest message table of a queue from being emptied until this transaction
--          ends. TRUNCATE takes rows away from pictures that are older, too: whoever reads a queue
--          without its lock would miss what a retirement has moved to the shelf meanwhile.
-- Inputs:  p_queue.
-- Lock:    ACCESS SHARE on that table, for which a retirement that has begun is waited for.
-- Index:   state_newest.
-- Answers: nothing. The caller reads in a statement of its own afterwards. At REPEATABLE READ,
--          where that has the same picture, it may miss messages all the same.
CREATE OR REPLACE FUNCTION slipring.oldest_hold(p_queue slipring.queue)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_held bigint;
    v_low bigint := (slipring.state_read(p_queue)).generation_low;
BEGIN
    WHILE v_held IS DISTINCT FROM v_low LOOP
        v_held := v_low;
        EXECUTE format('LOCK TABLE slipring.message_%s_%s IN ACCESS SHARE MODE', p_queue.place,
            v_held % 3);
        v_low := (slipring.state_read(p_queue)).generation_low;
    END LOOP;
END $$;
