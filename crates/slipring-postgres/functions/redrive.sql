-- Purpose: moves ready and parked messages to another queue, or each back to the queue it was
--          dead-lettered from (S6.4).
-- Inputs:  the names of source and target, null for back; at most how many, 1 to 10,000.
-- Lock:    the source's lock, to the end of the transaction.
-- Index:   see store_move.
-- Answers: how many; 0 when nothing is left to move.
CREATE OR REPLACE FUNCTION slipring.redrive(
    source text, target text DEFAULT NULL, n int DEFAULT 1000)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET jit = off AS $$
DECLARE
    v_source slipring.queue := slipring.queue_named(source);
    v_target int;
BEGIN
    PERFORM slipring.isolation_check();
    IF target IS NOT NULL THEN
        v_target := (slipring.queue_named(target)).queue_id;
    END IF;
    RETURN (SELECT coalesce(sum(m.moved), 0) FROM slipring.store_move(v_source.queue_id, v_target,
        slipring.count_check('redrive_messages_max', 10000, n, source), slipring.now_ms()) m);
END $$;
