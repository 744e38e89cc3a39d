-- Purpose: opens windows for deduplication ids (S8) and answers, for each message, the number of
--          the first message with its id: its own where it is the first, null where it has none.
-- Inputs:  the queue; the number before the first message; p_refused with an entry for each
--          message that is not stored.
-- Lock:    the entry of each id, to the end of the transaction; in the order of the ids. Waits for
--          whoever is sending the same id.
-- Index:   dedup_pkey.
CREATE OR REPLACE FUNCTION slipring.dedup_enter(
    p_queue slipring.queue, p_now_ms bigint, p_before bigint, p_groups text[],
    p_dedup_ids text[], p_refused jsonb[])
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    v_first bigint[];
BEGIN
    LOOP
        INSERT INTO slipring.dedup AS d (queue_id, scope, dedup_id, message_id, until_ms)
        SELECT p_queue.queue_id, m.scope, m.dedup_id, p_before + min(m.n),
            p_now_ms + p_queue.dedup_window_ms
        FROM (SELECT slipring.dedup_scope(p_queue.dedup_by_group, u.grp) AS scope, u.dedup_id, u.n
              FROM unnest(p_groups, p_dedup_ids) WITH ORDINALITY AS u(grp, dedup_id, n)
              WHERE u.dedup_id IS NOT NULL AND p_refused[u.n] IS NULL) m
        GROUP BY m.scope, m.dedup_id
        ORDER BY m.scope, m.dedup_id
        ON CONFLICT (queue_id, scope, dedup_id) DO UPDATE
        SET message_id = excluded.message_id, until_ms = excluded.until_ms
        WHERE d.until_ms <= p_now_ms;
        v_first := ARRAY(
            SELECT CASE WHEN p_refused[u.n] IS NULL THEN d.message_id END
            FROM unnest(p_groups, p_dedup_ids) WITH ORDINALITY AS u(grp, dedup_id, n)
            LEFT JOIN slipring.dedup d ON d.queue_id = p_queue.queue_id
                AND d.scope = slipring.dedup_scope(p_queue.dedup_by_group, u.grp)
                AND d.dedup_id = u.dedup_id
            ORDER BY u.n);
        -- An entry may be forgotten between the two statements; then its id is free.
        EXIT WHEN NOT EXISTS (
            SELECT FROM unnest(p_dedup_ids, v_first) WITH ORDINALITY AS u(dedup_id, first, n)
            WHERE u.dedup_id IS NOT NULL AND u.first IS NULL AND p_refused[u.n] IS NULL);
    END LOOP;
    RETURN v_first;
END $$;
