-- Purpose: brings groups of a FIFO queue up to date with their messages (S7.3): a group gives its
--          first message, unless one is leased or waits for a retry, or the first is delayed.
-- Inputs:  p_queue; p_names, groups in which something has changed, with the numbers of the
--          messages that have.
-- Lock:    the caller holds the queue's lock.
-- Index:   fifo_group_name; item_group and item_blocking from the first message on that the group
--          had; fifo_group's indexes grow where something is new.
CREATE OR REPLACE FUNCTION slipring.fifo_groups_set(
    p_queue slipring.queue, p_names text[], p_ids bigint[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_queue int := p_queue.queue_id;
BEGIN
    IF coalesce(cardinality(p_names), 0) = 0 THEN
        RETURN;
    END IF;
    WITH old AS MATERIALIZED (
        SELECT t.name, g.seq, g.low_id, g.head_id,
            CASE WHEN g.seq IS NULL THEN 0 ELSE least(g.low_id, t.id) END AS from_id
        FROM (SELECT u.name, min(u.id) AS id FROM unnest(p_names, p_ids) AS u(name, id)
              GROUP BY u.name) t
        LEFT JOIN LATERAL slipring.fifo_group_now(v_queue, t.name) g ON true),
    new AS MATERIALIZED (
        SELECT o.*, f.id AS low_to, CASE WHEN f.state = 1 AND NOT EXISTS (
            SELECT FROM slipring.item i WHERE i.queue_id = v_queue AND i.fifo_group = o.name
                AND i.fifo_group IS NOT NULL AND i.id >= f.id
                AND (i.state = 2 OR (i.state = 0 AND i.attempts > 0)))
            THEN f.id END AS head_to
        FROM old o
        LEFT JOIN LATERAL (
            SELECT i.id, i.state FROM slipring.item i
            WHERE i.queue_id = v_queue AND i.fifo_group = o.name AND i.fifo_group IS NOT NULL
                AND i.state < 3 AND i.id >= o.from_id
            ORDER BY i.id LIMIT 1) f ON true)
    INSERT INTO slipring.fifo_group (slot, queue_id, name, seq, entry, low_id, head_id)
    SELECT slipring.shelf_slot(), v_queue, n.name, coalesce(n.seq, 0) + 1,
        slipring.entry_now(p_queue.xid_base), n.low_to, n.head_to
    FROM new n
    WHERE n.low_to IS DISTINCT FROM n.low_id OR n.head_to IS DISTINCT FROM n.head_id;
END $$;
