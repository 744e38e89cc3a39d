-- Purpose: sets rows of a queue aside that cannot be what the store has written, however they came,
--          so that the others are served. Called where such a row has raised an error, see row_fault.
-- Inputs:  p_queue; p_now_ms.
-- Lock:    the caller holds the queue's lock. A table that is published and has no replica identity is
--          given one before a row of it is deleted, see aside_identity.
-- Index:   see aside_acks, aside_messages, aside_leases, aside_items: each bounded by about 300 ms,
--          or by what was handed out since the last rotation, and all of it once more for each such table.
-- Answers: what was set aside, which the log of the server says as well. Nothing where such a table is in use.
CREATE OR REPLACE FUNCTION slipring.aside_rows(p_queue slipring.queue, p_now_ms bigint)
RETURNS TABLE (kind text, why text, messages bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_before bigint := (SELECT coalesce(max(a.aside_id), 0) FROM slipring.aside a);
    v_table text;
    v_said text;
BEGIN
    LOOP
        BEGIN
            PERFORM slipring.aside_acks(p_queue);
            PERFORM slipring.aside_messages(p_queue);
            PERFORM slipring.aside_leases(p_queue, p_now_ms);
            PERFORM slipring.aside_items(p_queue);
            EXIT;
        EXCEPTION WHEN SQLSTATE 'SR101' THEN
            IF SQLERRM = v_table THEN
                -- It was not for want of an identity.
                GET STACKED DIAGNOSTICS v_said = PG_EXCEPTION_DETAIL;
                RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = v_said;
            END IF;
            v_table := SQLERRM;
        END;
        IF NOT slipring.aside_identity(p_queue, v_table) THEN
            RETURN;
        END IF;
    END LOOP;
    IF EXISTS (SELECT FROM slipring.aside a WHERE a.queue_id = p_queue.queue_id
            AND a.aside_id > v_before AND a.kind IN ('message', 'picture')) THEN
        PERFORM slipring.aside_recount(p_queue);
    END IF;
    FOR kind, why, messages IN SELECT a.kind, a.why, a.messages FROM slipring.aside a
        WHERE a.queue_id = p_queue.queue_id AND a.aside_id > v_before ORDER BY a.aside_id
    LOOP
        RAISE WARNING 'slipring: queue %: a row (%) is not as the store writes them (%) and was set '
            'aside; slipring.findings() shows it', p_queue.name, kind, why;
        RETURN NEXT;
    END LOOP;
END $$;
