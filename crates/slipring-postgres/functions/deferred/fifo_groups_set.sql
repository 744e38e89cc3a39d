-- Purpose: brings groups of a FIFO queue up to date with their messages (S7.3, S7.7): a group is
--          open while its first message is ready, and stands in the line at the later of that
--          message and the moment at which a receive took from it last.
--          A group that has nothing in the shelf may have messages in the log: it keeps served until
--          something comes, and loses it then where nothing of it had been in the log.
-- Inputs:  p_queue; p_names, groups in which something has changed, with the numbers of the
--          messages that have; p_served, in their places, when a receive took them, or null;
--          p_brought, whether they have just come from the log; p_before, up to where messages have
--          been brought into their groups, null where that is not known.
-- Lock:    the caller holds the queue's lock.
-- Index:   fifo_group_name; fifo_touched_queue for entries that the mark has not seen; item_group
--          from the first message on that the group had; fifo_group's indexes grow where something
--          is new.
CREATE OR REPLACE FUNCTION slipring.fifo_groups_set(
    p_queue slipring.queue, p_names text[], p_ids bigint[], p_served bigint[] DEFAULT NULL,
    p_brought boolean DEFAULT false, p_before bigint DEFAULT NULL)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_queue int := p_queue.queue_id;
    v_mark slipring.mark := slipring.mark_read(p_queue.queue_id, 5);
BEGIN
    IF coalesce(cardinality(p_names), 0) = 0 THEN
        RETURN;
    END IF;
    WITH touched AS MATERIALIZED (
        -- What others have put in without the lock: else a group might seem empty.
        SELECT t.name, t.id
        FROM slipring.spans(CASE WHEN v_mark.seq = 0 THEN '{[0,)}' ELSE v_mark.unseen END) r
        CROSS JOIN LATERAL (
            SELECT t.name, t.id FROM fifo_touched t
            WHERE t.queue_id = v_queue AND t.entry >= r.first AND t.entry < r.past OFFSET 0) t
        WHERE t.name = ANY (p_names)),
    old AS MATERIALIZED (
        SELECT t.name, t.served AS served_now, g.seq, g.low_id, g.turn, g.served,
            -- One that seemed to be empty has been so if all that came since was sent after that.
            g.low_id IS NULL AND p_before >= g.entry
                AND (t.brought_id IS NULL OR t.brought_id >= g.entry) AS was_empty,
            CASE WHEN g.seq IS NULL THEN 0 ELSE least(g.low_id, t.id) END AS from_id
        FROM (SELECT u.name, min(u.id) AS id, max(u.served) AS served,
                  min(u.id) FILTER (WHERE u.brought) AS brought_id
              FROM (SELECT u.*, p_brought AS brought
                    FROM unnest(p_names, p_ids, p_served) AS u(name, id, served)
                    UNION ALL SELECT t.name, t.id, NULL, false FROM touched t) u
              GROUP BY u.name) t
        LEFT JOIN LATERAL slipring.fifo_group_now(v_queue, t.name) g ON true),
    new AS MATERIALIZED (
        SELECT o.*, f.id AS low_to, s.served_to,
            CASE WHEN f.state = 1 THEN greatest(f.id, s.served_to) END AS turn_to
        FROM old o
        LEFT JOIN LATERAL (
            SELECT i.id, i.state FROM item i
            WHERE i.queue_id = v_queue AND i.fifo_group = o.name AND i.fifo_group IS NOT NULL
                AND i.state < 3 AND i.id >= o.from_id
            ORDER BY i.id LIMIT 1) f ON true
        -- A group of which nothing was left has lost its place.
        CROSS JOIN LATERAL (SELECT CASE WHEN o.was_empty AND f.id IS NOT NULL
            THEN coalesce(o.served_now, 0)
            ELSE greatest(o.served, o.served_now, 0) END AS served_to) s)
    INSERT INTO slipring.fifo_group (slot, queue_id, name, seq, entry, low_id, served, turn)
    SELECT slipring.shelf_slot(), v_queue, n.name, slipring.shelf_seq(n.seq),
        slipring.entry_now(p_queue.xid_base), n.low_to, n.served_to, n.turn_to
    FROM new n
    WHERE n.low_to IS DISTINCT FROM n.low_id OR n.turn_to IS DISTINCT FROM n.turn
        OR n.served_to IS DISTINCT FROM coalesce(n.served, 0);
END $$;
