-- Purpose: moves messages that have pictures to another queue, ready and never tried, their numbers
--          and fences kept (S6.4); a redrive forgets their deliveries before.
-- Inputs:  p_queue, where they are; p_to; p_ids; p_source, the name of the queue they were
--          dead-lettered from, null for a redrive; p_failures, what is kept of each from now on,
--          null for what was kept.
-- Lock:    the lock of the queue they are in; p_to's row against deletion.
-- Index:   item_picture_N_newest, item_body_id; the indexes of both tables grow; see
--          fifo_groups_set.
CREATE OR REPLACE FUNCTION slipring.item_move(
    p_queue slipring.queue, p_to slipring.queue, p_ids bigint[], p_source text,
    p_failures jsonb[] DEFAULT NULL)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_slot int := slipring.shelf_slot();
    v_entry bigint := slipring.entry_now(p_queue.xid_base);
    v_groups record;
BEGIN
    WITH old AS MATERIALIZED (
        SELECT i.*, CASE WHEN p_to.fifo THEN coalesce(b.group_name, '') END AS group_to,
            b.group_name, b.dedup_id, b.headers, b.body, u.failures AS failures_to
        FROM unnest(p_ids, p_failures) AS u(id, failures)
        CROSS JOIN LATERAL slipring.item_now(u.id) i
        CROSS JOIN LATERAL slipring.item_content(u.id) b
        WHERE i.queue_id = p_queue.queue_id),
    moved AS (
        INSERT INTO slipring.item_picture (slot, id, seq, entry, queue_id, state, turn, priority,
            sent_ms, attempts, fence, delay_ms, lease_ms, bytes, fifo_group, source,
            earlier, failures)
        SELECT v_slot, o.id, o.seq + 1, v_entry, p_to.queue_id, 1,
            CASE WHEN p_to.fifo THEN 0 ELSE o.priority END, o.priority, o.sent_ms, 0, o.fence,
            o.delay_ms, o.lease_ms, o.bytes, o.group_to, p_source,
            CASE WHEN p_source IS NULL THEN 0 ELSE o.earlier + o.attempts END,
            coalesce(o.failures_to, o.failures)
        FROM old o),
    carried AS (
        INSERT INTO slipring.item_body (slot, id, group_name, dedup_id, headers, body)
        SELECT v_slot, o.id, o.group_name, o.dedup_id, o.headers, o.body FROM old o),
    touched AS (
        INSERT INTO slipring.fifo_touched (slot, queue_id, name, id, entry)
        SELECT v_slot, p_to.queue_id, o.group_to, min(o.id), v_entry FROM old o
        WHERE o.group_to IS NOT NULL GROUP BY o.group_to),
    counted AS (
        INSERT INTO slipring.tally
        SELECT v_slot, p_queue.queue_id, v_entry, -count(*) FILTER (WHERE o.state = 1),
            -count(*) FILTER (WHERE o.state = 1 AND o.priority < {{PRIORITY_DEFAULT}}),
            -count(*) FILTER (WHERE o.state = 0), -count(*) FILTER (WHERE o.state = 2),
            -count(*) FILTER (WHERE o.state = 3), -sum(o.bytes)
        FROM old o HAVING count(*) > 0
        UNION ALL
        SELECT v_slot, p_to.queue_id, v_entry, count(*),
            count(*) FILTER (WHERE o.priority < {{PRIORITY_DEFAULT}}),
            0, 0, 0, sum(o.bytes)
        FROM old o HAVING count(*) > 0)
    SELECT count(*) AS n, array_agg(o.fifo_group) FILTER (WHERE o.fifo_group IS NOT NULL) AS names,
        array_agg(o.id) FILTER (WHERE o.fifo_group IS NOT NULL) AS ids
    INTO v_groups FROM old o;
    IF v_groups.n < cardinality(p_ids) THEN
        -- It would be moved again for ever; see row_fault for what comes of it.
        RAISE EXCEPTION USING ERRCODE = 'data_corrupted', MESSAGE = format(
            '%s of %s messages that move have no body', cardinality(p_ids) - v_groups.n,
            cardinality(p_ids));
    END IF;
    PERFORM slipring.fifo_groups_set(p_queue, v_groups.names, v_groups.ids);
    PERFORM nextval(p_queue.activity), nextval(p_to.activity);
END $$;
