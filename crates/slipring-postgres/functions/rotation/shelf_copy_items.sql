-- Purpose: copies the newest pictures of messages that live, their bodies and their groups, to the
--          present generation of the shelf. A body may have to be copied where the picture is
--          there already.
-- Inputs:  p_copied, the queue and up to where it was copied before; p_from, the slot they may be
--          in; p_shelf, the present generation; p_sent_ms with p_id, up to where this goes.
-- Lock:    the caller holds the queue's lock.
-- Index:   item_sent of the slot, item_picture_N_newest, item_body_id; the new slot's grow.
-- Answers: how many of them are leased.
CREATE OR REPLACE FUNCTION slipring.shelf_copy_items(
    p_copied slipring.mark, p_from int, p_shelf bigint, p_sent_ms bigint, p_id bigint)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_leased bigint;
BEGIN
    WITH alive AS MATERIALIZED (
        SELECT i.* FROM (
            SELECT DISTINCT p.id FROM item_picture p
            WHERE p.slot = p_from AND p.queue_id * 2::bigint = p_copied.queue_id * 2::bigint
                AND p.state + 2 < 6 AND (p.sent_ms, p.id) > (p_copied.turn, p_copied.id)
                AND (p.sent_ms, p.id) <= (p_sent_ms, p_id)) d
        CROSS JOIN LATERAL slipring.item_now(d.id) i WHERE i.queue_id = p_copied.queue_id),
    bodies AS (
        INSERT INTO slipring.item_body (slot, id, group_name, dedup_id, headers, body)
        SELECT p_shelf % 3, b.id, b.group_name, b.dedup_id, b.headers, b.body
        FROM alive a CROSS JOIN LATERAL (
            SELECT * FROM item_body b WHERE b.slot = p_from AND b.id = a.id LIMIT 1) b
        WHERE NOT EXISTS (SELECT FROM item_body c
            WHERE c.slot = p_shelf % 3 AND c.id = a.id)),
    pictures AS (
        INSERT INTO slipring.item_picture (slot, id, seq, entry, queue_id, state, turn, priority,
            sent_ms, attempts, fence, first_received_ms, delay_ms, lease_ms, holder, bytes,
            fifo_group, source, earlier, failures)
        SELECT p_shelf % 3, a.id, a.seq + 1, a.entry, a.queue_id, a.state, a.turn, a.priority,
            a.sent_ms, a.attempts, a.fence, a.first_received_ms, a.delay_ms, a.lease_ms,
            a.holder, a.bytes, a.fifo_group, a.source, a.earlier, a.failures
        FROM alive a WHERE a.slot = p_from),
    groups AS (
        -- A group that has messages has had its first one since its picture was made.
        INSERT INTO slipring.fifo_group (slot, queue_id, name, seq, entry, low_id, served, turn)
        SELECT p_shelf % 3, g.queue_id, g.name, g.seq + 1, g.entry, g.low_id, g.served, g.turn
        FROM (SELECT DISTINCT a.fifo_group AS name FROM alive a
              WHERE a.fifo_group IS NOT NULL) d
        CROSS JOIN LATERAL slipring.fifo_group_now(p_copied.queue_id, d.name) g
        WHERE g.slot = p_from)
    SELECT count(*) FILTER (WHERE a.state = 2) INTO v_leased FROM alive a;
    RETURN v_leased;
END $$;
