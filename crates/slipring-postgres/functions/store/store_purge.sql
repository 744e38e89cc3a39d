-- Purpose: removes messages in any state that were sent at or before a moment (S14.5).
-- Inputs:  p_queue; p_limit, at most how many; p_sent_until_ms.
-- Lock:    the queue's lock.
-- Index:   see remove_old, log_feed; queue_pkey.
-- Answers: how many.
CREATE OR REPLACE FUNCTION slipring.store_purge(
    p_queue int, p_limit int, p_sent_until_ms bigint)
RETURNS bigint LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
SET search_path = pg_catalog, slipring, pg_temp AS $$
DECLARE
    v_queue slipring.queue := slipring.queue_lock(p_queue);
    v_done int8multirange;
    v_removed bigint;
    v_state slipring.state;
BEGIN
    v_done := slipring.cut(v_queue.xid_base);
    v_removed := slipring.remove_old(v_queue, p_sent_until_ms, p_limit, true);
    -- The first step ends the windows of what there is, the last one those of what was sent since
    -- in the same millisecond: two rows, however many steps and ids (S8.4). Where the clock of
    -- another server was ahead, an id too many is forgotten rather than a message lost. Until the last step,
    -- and where it never comes, ids of messages that are there count. What is left by
    -- the last one an open transaction has received, and its ids are known on.
    IF v_removed < p_limit OR p_sent_until_ms IS DISTINCT FROM v_queue.ids_until_ms THEN
        v_state := slipring.state_read(v_queue);
        IF v_removed < p_limit AND v_state.taken IS NOT NULL THEN
            v_done := v_done - coalesce((SELECT range_agg(int8range(f.id, f.id, '[]')) FROM slipring.log_feed(
                v_queue, v_state, v_done, {{BIGINT_MAX}}) f), '{}');
        END IF;
        UPDATE slipring.queue q SET ids_ended = v_done, purging = v_removed >= p_limit,
            ids_until_ms = greatest(q.ids_until_ms, p_sent_until_ms)
        WHERE q.queue_id = p_queue;
    END IF;
    RETURN v_removed;
END $$;
