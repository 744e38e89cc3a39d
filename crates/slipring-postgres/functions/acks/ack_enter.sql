-- Purpose: enters acks into one generation of the journal.
-- Inputs:  p_queue; p_generation; p_before, the number before their first, or null for acks that
--          are only to be met; p_messages with p_fences; p_whole, the fences of leases that are
--          acked as a whole, with the messages p_ids that each has.
-- Lock:    the caller has what ack_whole takes.
-- Index:   ack's grow, and make who acks the same wait: one row for a lease as a whole, else one
--          for each message, and below READ COMMITTED another that keeps anybody with a newer or an
--          older snapshot from acking all of the lease.
-- Answers: how many messages were entered; the others had been acked before.
CREATE OR REPLACE FUNCTION slipring.ack_enter(
    p_queue int, p_generation bigint, p_before bigint, p_messages bigint[], p_fences bigint[],
    p_whole bigint[], p_ids int8multirange[])
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_slot int := p_generation % 3;
    v_added bigint;
    v_alone bigint;
BEGIN
    IF p_whole IS NOT NULL THEN
        INSERT INTO slipring.ack
        SELECT v_slot, p_queue, coalesce(p_before + a.n, -1), 0, w.fence, w.ids
        FROM unnest(p_whole, p_ids) AS w(fence, ids)
        JOIN (SELECT a.fence, min(a.n) AS n
              FROM unnest(p_fences) WITH ORDINALITY AS a(fence, n) GROUP BY a.fence) a
            ON a.fence = w.fence;
        v_added := (SELECT count(*) FROM unnest(p_fences) f WHERE f = ANY (p_whole));
        IF v_added = cardinality(p_fences) THEN
            RETURN v_added;
        END IF;
    ELSIF NOT slipring.read_committed() THEN
        INSERT INTO slipring.ack
        SELECT v_slot, p_queue, -1, 0, f, '{}' FROM (SELECT DISTINCT f FROM unnest(p_fences) f) f
        ON CONFLICT DO NOTHING;
    END IF;
    INSERT INTO slipring.ack
    SELECT v_slot, p_queue, coalesce(p_before + a.n, -1), a.message, a.fence
    FROM unnest(p_messages, p_fences) WITH ORDINALITY AS a(message, fence, n)
    WHERE a.fence <> ALL (coalesce(p_whole, '{}')) AND NOT EXISTS (
        SELECT FROM ack d WHERE d.fence = a.fence AND d.message_id IN (0, a.message)
            AND (d.message_id > 0 OR a.message <@ d.ids) AND (d.id >= 0 OR p_before IS NULL))
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS v_alone = ROW_COUNT;
    RETURN coalesce(v_added, 0) + v_alone;
END $$;
