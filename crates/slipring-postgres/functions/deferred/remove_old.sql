-- Purpose: removes messages in any state that were sent at or before a moment, at most p_limit.
-- Inputs:  p_queue; p_sent_until_ms; p_limit; p_all: nearly all that there are.
-- Lock:    the caller holds the queue's lock. None of the leases: an ack in a user's open transaction has
--          the same outcome, and counts as the earlier one.
-- Index:   see lease_open; the partitions' order indexes; see items_first for p_all, else item_sent.
-- Answers: how many.
CREATE OR REPLACE FUNCTION slipring.remove_old(
    p_queue slipring.queue, p_sent_until_ms bigint, p_limit bigint, p_all boolean)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_state slipring.state := slipring.acks_take(p_queue, slipring.state_read(p_queue), 0);
    v_from text := slipring.live_tables(p_queue, v_state);
    v_ids bigint[];
    v_fences bigint[];
    v_old record;
    v_removed bigint := 0;
    v_before slipring.state := v_state;
BEGIN
    v_state.seq := v_state.seq + 1;
    IF v_state.leased > 0 THEN
        EXECUTE format('SELECT array_agg(m.id), array_agg(m.fence) FROM (
            SELECT m.id, l.fence FROM (
                SELECT l.* FROM slipring.lease_open($1) l ORDER BY l.leased_ms, l.fence OFFSET 0) l
            CROSS JOIN LATERAL unnest(l.open) r
            CROSS JOIN LATERAL (SELECT m.id FROM %s m WHERE m.sent_ms <= $2 LIMIT $3) m
            LIMIT $3) m', slipring.log_rows(v_from, 'l.lane', 'lower(r)', 'upper(r)'))
        INTO v_ids, v_fences USING p_queue.queue_id, p_sent_until_ms, p_limit;
        IF v_ids IS NOT NULL THEN
            v_state := (slipring.lease_ack(p_queue, v_state, v_ids, v_fences)).p_state;
            PERFORM slipring.endings_note(p_queue, NULL);
            v_removed := cardinality(v_ids);
        END IF;
    END IF;
    IF v_state.taken IS NOT NULL THEN
        -- A message that an open transaction has received stays.
        PERFORM slipring.state_write(p_queue, v_state) WHERE v_removed > 0;
        v_state := slipring.taken_apart(p_queue, p_limit - v_removed, true);
        v_before := v_state;
        v_state.seq := v_state.seq + 1;
    END IF;
    SELECT l.p_state, l.removed INTO v_old
    FROM slipring.log_drop(p_queue, v_state, p_sent_until_ms, p_limit - v_removed) l;
    v_state := v_old.p_state;
    v_removed := v_removed + v_old.removed;
    v_before.seq := v_state.seq;
    IF v_state IS DISTINCT FROM v_before THEN
        PERFORM slipring.state_write(p_queue, v_state);
    END IF;
    IF p_all THEN
        -- The first ones of each order; only newer ones may stand before others.
        SELECT array_agg(f.id) FILTER (WHERE f.sent_ms <= p_sent_until_ms) AS ids,
            max(f.many) AS many INTO v_old
        FROM (SELECT i.id, i.sent_ms, count(*) OVER (PARTITION BY k) AS many
              FROM unnest(ARRAY[0, 1, 7, 8, 2, 3]) k
              CROSS JOIN LATERAL slipring.items_first(slipring.mark_read(p_queue.queue_id, k),
                  '{[0,)}', p_limit - v_removed) i
              LIMIT p_limit - v_removed) f;
        v_removed := v_removed + slipring.item_remove(p_queue, v_old.ids);
        IF v_old.ids IS NOT NULL OR v_old.many IS NULL
            OR v_old.many < p_limit - v_removed THEN
            PERFORM slipring.tally_fold(p_queue);
            RETURN v_removed;
        END IF;
    END IF;
    RETURN v_removed + slipring.item_remove(p_queue, ARRAY(
        SELECT i.id FROM item i
        WHERE i.queue_id * 2::bigint = p_queue.queue_id * 2::bigint AND i.state + 2 < 6
            AND i.sent_ms <= p_sent_until_ms
        ORDER BY i.sent_ms, i.id LIMIT p_limit - v_removed));
END $$;
