-- Purpose: waits until a receive of a queue would get something, or the time is over. Must be called
--          outside a transaction: each look is one, so that nothing is held in between.
-- Inputs:  the queue's name; how long at most. It looks again after 10 ms, then each time half as
--          long again, up to 500 ms; each pause is shorter by up to a half at random, so that those
--          who wait do not all look at one moment.
-- Lock:    see ready.
-- Index:   see ready.
CREATE OR REPLACE PROCEDURE slipring.await(queue text, at_most interval DEFAULT '20 seconds')
LANGUAGE plpgsql AS $$
DECLARE
    v_until timestamptz := clock_timestamp() + at_most;
    v_pause float8 := 0.01;
    v_left float8;
    v_ready boolean;
BEGIN
    LOOP
        v_ready := slipring.ready(queue);
        COMMIT;
        v_left := extract(epoch FROM v_until - clock_timestamp());
        EXIT WHEN v_ready OR v_left > 0 IS NOT TRUE;
        PERFORM pg_catalog.pg_sleep(least(v_pause * (0.5 + random() / 2), v_left));
        COMMIT;
        v_pause := least(v_pause * 1.5, 0.5);
    END LOOP;
END $$;
