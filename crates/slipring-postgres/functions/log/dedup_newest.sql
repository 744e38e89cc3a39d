-- Purpose: the newest entry of a deduplication id.
-- Inputs:  p_queue, p_scope, p_dedup_id; p_slot that is written now.
-- Lock:    the caller's snapshot.
-- Index:   dedup_N_once, backwards, one step in each slot.
-- Answers: where two slots have the same round, the newer one counts: see dedup_enter.
CREATE OR REPLACE FUNCTION slipring.dedup_newest(
    p_queue int, p_scope text, p_dedup_id text, p_slot int)
RETURNS SETOF slipring.dedup LANGUAGE sql STABLE AS $$
    SELECT * FROM (SELECT * FROM slipring.dedup d
        WHERE d.queue_id = p_queue AND d.scope = p_scope AND d.dedup_id = p_dedup_id
        ORDER BY d.round DESC LIMIT 2) d
    ORDER BY d.round DESC, d.slot = p_slot DESC LIMIT 1
$$;
