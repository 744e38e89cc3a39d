-- Purpose: sets rows of a queue aside that cannot be what the store has written, for whom a receive
--          fails with an error of PostgreSQL's own. Servers and maintain() do it by themselves.
-- Inputs:  the queue's name.
-- Lock:    the queue's, to the end of the transaction; see aside_rows.
-- Index:   see aside_rows.
-- Answers: how many rows.
CREATE OR REPLACE FUNCTION slipring.set_aside(queue text)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp AS $$
BEGIN
    PERFORM slipring.isolation_check();
    RETURN (SELECT count(*) FROM slipring.store_set_aside(
        (slipring.queue_named(set_aside.queue, 'admin')).queue_id, slipring.now_ms()));
END $$;
