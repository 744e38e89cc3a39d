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
    -- A procedure that commits has no search_path of its own. Operators are named with their schema and have the
    -- types of their operands: the caller's path may have others of the same name.
    v_until pg_catalog.timestamptz := pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+)
        least('100 years'::pg_catalog.interval,
            greatest('0'::pg_catalog.interval, coalesce(at_most, '0'::pg_catalog.interval)));
    v_pause pg_catalog.float8 := 0.01;
    v_left pg_catalog.float8;
    v_share pg_catalog.float8;
    v_ready boolean;
BEGIN
    LOOP
        v_ready := slipring.ready(queue);
        COMMIT;
        v_left := extract(epoch FROM v_until OPERATOR(pg_catalog.-) pg_catalog.clock_timestamp());
        EXIT WHEN v_ready OR (v_left OPERATOR(pg_catalog.>) 0::pg_catalog.float8) IS NOT TRUE;
        v_share := 1::pg_catalog.float8
            OPERATOR(pg_catalog.-) (pg_catalog.random() OPERATOR(pg_catalog./) 2::pg_catalog.float8);
        PERFORM pg_catalog.pg_sleep(least(v_pause OPERATOR(pg_catalog.*) v_share, v_left));
        COMMIT;
        v_pause := least(v_pause OPERATOR(pg_catalog.*) 1.5::pg_catalog.float8, 0.5::pg_catalog.float8);
    END LOOP;
END $$;
