-- Purpose: sets rows of a queue aside that cannot be what the store has written.
-- Inputs:  p_queue; p_now_ms.
-- Lock:    the queue's; see aside_rows.
-- Index:   see aside_rows.
-- Answers: what was set aside: the kind of row, what is wrong with it, and how many messages it
--          stood for.
CREATE OR REPLACE FUNCTION slipring.store_set_aside(p_queue int, p_now_ms bigint)
RETURNS TABLE (kind text, why text, messages bigint)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET search_path = pg_catalog, slipring, pg_temp AS $$
DECLARE
    v_queue slipring.queue := slipring.queue_lock(p_queue, false);
BEGIN
    IF v_queue.queue_id IS NOT NULL THEN
        RETURN QUERY SELECT * FROM slipring.aside_rows(v_queue, p_now_ms);
    END IF;
END $$;
