-- Purpose: goes on after an error that background work of a queue has met: sets rows aside that cannot
--          be what the store has written.
-- Inputs:  p_queue; p_now_ms; p_state and p_message of the error, which is raised again where no row
--          can be to blame.
-- Lock:    the queue's, see queue_try.
-- Index:   see aside_rows.
-- Answers: whether rows were set aside, so that the work may be tried again.
CREATE OR REPLACE FUNCTION slipring.aside_caught(
    p_queue int, p_now_ms bigint, p_state text, p_message text)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_queue slipring.queue;
    v_found boolean;
BEGIN
    IF NOT slipring.row_fault(p_state) THEN
        RAISE EXCEPTION USING ERRCODE = p_state, MESSAGE = p_message;
    END IF;
    v_queue := slipring.queue_try(p_queue);
    IF v_queue.queue_id IS NULL THEN
        RETURN false;
    END IF;
    v_found := EXISTS (SELECT FROM slipring.aside_rows(v_queue, p_now_ms));
    IF NOT v_found THEN
        RAISE WARNING 'slipring: queue %: %; other queues go on', v_queue.name, p_message;
    END IF;
    RETURN v_found;
END $$;
