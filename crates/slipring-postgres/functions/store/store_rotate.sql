-- Purpose: one step of emptying tables as a whole.
-- Inputs:  p_part, which: queues (their messages), shared (messages in tables of several queues), moves (of
--          queues between such tables and reserved ones), journal (state, lease, ack), shelf (messages
--          with pictures), dedup (deduplication ids), places (what deleted queues have left);
--          p_now_ms; a generation is left when it has p_bytes_min bytes, or 1 MiB and is p_age_ms
--          old; p_after, the number of a queue: of what goes queue by queue, those with higher ones.
--          Must be a transaction of its own: a mark is the transaction's number, and has to come
--          after the look at what it marks.
-- Lock:    the lock of rotation, which is only tried, and that of one queue at most; then see the
--          steps.
-- Index:   see the steps.
-- Answers: whether it did a step, and the queue to go on after: null when no other is left.
CREATE OR REPLACE FUNCTION slipring.store_rotate(
    p_part text, p_now_ms bigint, p_bytes_min bigint, p_age_ms bigint, p_after int DEFAULT 0)
RETURNS TABLE (done boolean, after int)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
SET search_path = pg_catalog, slipring, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF pg_current_xact_id_if_assigned() IS NOT NULL THEN
        PERFORM slipring.fail('SR007', 'the transaction has written something already; call '
            'this in a transaction of its own', '{}');
    END IF;
    PERFORM slipring.isolation_kept();
    BEGIN
        LOCK TABLE slipring.lock_rotation IN SHARE UPDATE EXCLUSIVE MODE NOWAIT;
    EXCEPTION WHEN lock_not_available THEN
        RETURN QUERY SELECT false, NULL::int;
        RETURN;
    END;
    CASE p_part
    WHEN 'queues' THEN
        SELECT * INTO done, after
        FROM slipring.rotate_queues(p_after, p_now_ms, p_bytes_min, p_age_ms);
    WHEN 'shared' THEN
        SELECT * INTO done, after
        FROM slipring.rotate_places(p_after, p_now_ms, p_bytes_min, p_age_ms);
    WHEN 'moves' THEN
        SELECT * INTO done, after
        FROM slipring.rotate_moves(p_after, p_now_ms, p_bytes_min, p_age_ms);
    WHEN 'journal' THEN
        SELECT * INTO done, after
        FROM slipring.rotate_journal(p_after, p_now_ms, p_bytes_min, p_age_ms);
    WHEN 'shelf' THEN
        SELECT * INTO done, after
        FROM slipring.rotate_shelf(p_after, p_now_ms, p_bytes_min, p_age_ms);
    WHEN 'dedup' THEN
        done := slipring.rotate_dedup(p_now_ms, p_bytes_min, p_age_ms);
    WHEN 'places' THEN
        done := slipring.places_empty();
    ELSE
        done := false;
    END CASE;
    RETURN NEXT;
END $$;
