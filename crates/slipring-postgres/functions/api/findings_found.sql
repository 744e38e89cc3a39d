-- Purpose: the rows that were set aside, as far as the caller may see them.
-- Inputs:  p_queue, the name of a queue, or null for all; it is an error where there is no such queue
--          (SR001) and none has left rows, or the caller has no right in it.
-- Lock:    none.
-- Index:   aside_pkey, queue_name.
CREATE OR REPLACE FUNCTION slipring.findings_found(p_queue text)
RETURNS SETOF slipring.aside LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF EXISTS (SELECT FROM slipring.queue q WHERE q.name = p_queue) OR p_queue IS NOT NULL
        AND NOT EXISTS (SELECT FROM slipring.aside a WHERE a.queue = p_queue) THEN
        PERFORM slipring.queue_named(p_queue, 'admin');
    END IF;
    RETURN QUERY SELECT a.* FROM slipring.aside a
    WHERE (p_queue IS NULL OR a.queue = p_queue) AND slipring.queue_right('admin', a.queue_id);
END $$;
