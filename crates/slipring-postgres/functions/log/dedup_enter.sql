-- Purpose: opens windows for deduplication ids (S8) and answers, for each message, the number of
--          the first message with its id: its own where it is the first, null where it has none.
-- Inputs:  the queue; the number before the first message, whose transaction has its number;
--          p_refused with an entry for each message that is not stored.
-- Lock:    the entry of each id, to the end of the transaction; in the order of the ids. Waits for
--          whoever is sending the same id.
-- Index:   dedup_N_once; see dedup_there.
CREATE OR REPLACE FUNCTION slipring.dedup_enter(
    p_queue slipring.queue, p_now_ms bigint, p_before bigint, p_groups text[],
    p_dedup_ids text[], p_refused jsonb[])
RETURNS bigint[] LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_first bigint[];
    v_slots int[] := slipring.dedup_slots();
    v_at int := v_slots[cardinality(v_slots)];
    v_slot int;
    v_met boolean;
    v_missing bigint;
    v_entered bigint;
    v_keys record;
BEGIN
    SELECT array_agg(k.scope) AS scopes, array_agg(k.dedup_id) AS ids, array_agg(k.first) AS firsts
    INTO v_keys FROM (
        SELECT m.scope, m.dedup_id, p_before + min(m.n) AS first
        FROM (SELECT slipring.dedup_scope(p_queue.dedup_by_group, u.grp) AS scope, u.dedup_id, u.n
              FROM unnest(p_groups, p_dedup_ids) WITH ORDINALITY AS u(grp, dedup_id, n)
              WHERE u.dedup_id IS NOT NULL AND p_refused[u.n] IS NULL) m
        GROUP BY m.scope, m.dedup_id) k;
    LOOP
        v_met := false;
        FOREACH v_slot IN ARRAY v_slots LOOP
            -- A round for those whose window is over; one's own goes into the newer slot as well.
            WITH wanted AS MATERIALIZED (
                SELECT k.scope, k.dedup_id, k.first, CASE WHEN d.message_id = k.first
                    THEN d.round ELSE coalesce(d.round, 0) + 1 END AS round
                FROM unnest(v_keys.scopes, v_keys.ids, v_keys.firsts) AS k(scope, dedup_id, first)
                LEFT JOIN LATERAL slipring.dedup_newest(p_queue.queue_id, k.scope, k.dedup_id,
                    v_at) d ON true
                WHERE d.round IS NULL OR d.until_ms <= p_now_ms
                    -- A purge has ended it (S8.4).
                    OR (d.message_id <@ p_queue.ids_ended AND d.sent_ms <= p_queue.ids_until_ms
                        AND NOT (p_queue.purging AND slipring.dedup_there(p_queue, d.message_id)))
                    OR (d.message_id = k.first AND d.slot <> v_slot AND v_slot = v_at)
                ORDER BY k.scope, k.dedup_id),
            entered AS (
                INSERT INTO slipring.dedup (slot, queue_id, scope, dedup_id, round, message_id,
                    until_ms, sent_ms)
                SELECT v_slot, p_queue.queue_id, w.scope, w.dedup_id, w.round, w.first,
                    p_now_ms + p_queue.dedup_window_ms, p_now_ms
                FROM wanted w ON CONFLICT DO NOTHING RETURNING 1)
            SELECT (SELECT count(*) FROM wanted), (SELECT count(*) FROM entered)
            INTO v_missing, v_entered;
            -- Somebody else was first: what that has entered is seen by the next statement.
            v_met := v_met OR v_entered < v_missing;
            EXIT WHEN v_met;
        END LOOP;
        EXIT WHEN NOT v_met;
    END LOOP;
    v_first := ARRAY(
        SELECT CASE WHEN u.dedup_id IS NOT NULL AND p_refused[u.n] IS NULL THEN d.message_id END
        FROM unnest(p_groups, p_dedup_ids) WITH ORDINALITY AS u(grp, dedup_id, n)
        LEFT JOIN LATERAL slipring.dedup_newest(p_queue.queue_id,
            slipring.dedup_scope(p_queue.dedup_by_group, u.grp), u.dedup_id, v_at) d ON true
        ORDER BY u.n);
    IF EXISTS (SELECT FROM unnest(v_first) f WHERE f <= p_before) THEN
        -- A purge since the transaction's snapshot may have ended the window. The steps of one that was under
        -- way do not show.
        IF p_queue.purging AND NOT slipring.read_committed()
            AND EXISTS (SELECT FROM unnest(v_first) f WHERE f <= p_before AND f <@ p_queue.ids_ended)
        THEN
            RAISE EXCEPTION USING ERRCODE = '40001', MESSAGE = format('queue %s is being purged; try the '
                'transaction again', p_queue.name);
        END IF;
        PERFORM slipring.queue_unchanged(p_queue.queue_id);
    END IF;
    RETURN v_first;
END $$;
