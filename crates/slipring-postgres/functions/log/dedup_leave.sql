-- Purpose: takes back what dedup_enter has entered for messages that are refused. A later message of
--          the call with the same id becomes the first.
-- Inputs:  as dedup_enter, which the caller has called with none refused.
-- Lock:    none; who waits for one of these entries waits for the end of this transaction still.
-- Index:   dedup_N_once.
-- Answers: as dedup_enter.
CREATE OR REPLACE FUNCTION slipring.dedup_leave(
    p_queue slipring.queue, p_now_ms bigint, p_before bigint, p_groups text[],
    p_dedup_ids text[], p_refused jsonb[])
RETURNS bigint[] LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    DELETE FROM slipring.dedup d
    USING unnest(p_groups, p_dedup_ids) WITH ORDINALITY AS u(grp, dedup_id, n)
    WHERE p_refused[u.n] IS NOT NULL AND d.queue_id = p_queue.queue_id
        AND d.scope = slipring.dedup_scope(p_queue.dedup_by_group, u.grp)
        AND d.dedup_id = u.dedup_id AND d.message_id = p_before + u.n;
    RETURN slipring.dedup_enter(p_queue, p_now_ms, p_before, p_groups, p_dedup_ids, p_refused);
END $$;
