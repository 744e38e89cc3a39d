-- Purpose: writes the rows of messages: plain ones to the log, delayed ones and those of a
--          priority without a lane to item.
-- Inputs:  the queue; the number before the first message; arrays with one entry for each;
--          p_refused with an entry for each that is not stored; p_first with the number of the
--          first message with the same deduplication id, its own where it is the first.
-- Lock:    none.
-- Index:   the partition's order index and item's grow.
CREATE OR REPLACE FUNCTION slipring.append_rows(
    p_queue slipring.queue, p_now_ms bigint, p_before bigint, p_bodies bytea[],
    p_priorities bigint[], p_delays_ms bigint[], p_leases_ms bigint[], p_groups text[],
    p_dedup_ids text[], p_headers text[], p_refused jsonb[], p_first bigint[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_generation bigint := slipring.generation_now(p_queue);
    v_place int := p_queue.place * 4 + v_generation % 3;
BEGIN
    INSERT INTO slipring.message (id, lane, sent_ms, place, bytes, priority, lease_ms,
        group_name, dedup_id, headers, body)
    SELECT p_before + m.n, CASE WHEN p_queue.fifo THEN 0 ELSE m.priority END, p_now_ms, v_place,
        octet_length(m.body) + slipring.headers_bytes(m.headers)
            + coalesce(octet_length(m.grp), 0) + coalesce(octet_length(m.dedup_id), 0),
        CASE WHEN p_queue.fifo THEN m.priority END, m.lease_ms, m.grp, m.dedup_id, m.headers,
        m.body
    FROM unnest(p_bodies, p_priorities, p_delays_ms, p_leases_ms, p_groups, p_dedup_ids,
        p_headers) WITH ORDINALITY AS m(body, priority, delay_ms, lease_ms, grp, dedup_id,
        headers, n)
    WHERE coalesce(m.delay_ms, p_queue.delay_ms) = 0
        AND (p_queue.fifo OR m.priority = ANY (p_queue.lanes))
        AND p_refused[m.n] IS NULL AND coalesce(p_first[m.n] = p_before + m.n, true);
    IF p_queue.delay_ms = 0 AND coalesce(0 = ALL (array_remove(p_delays_ms, NULL)), true)
        AND (p_queue.fifo OR p_priorities <@ p_queue.lanes) THEN
        RETURN;
    END IF;
    WITH added AS (
        INSERT INTO slipring.item (id, queue_id, state, turn, priority, sent_ms, attempts, fence,
            delay_ms, lease_ms, bytes, fifo_group, group_name, dedup_id, headers, body)
        SELECT p_before + m.n, p_queue.queue_id, (d.delay_ms = 0)::int,
            CASE WHEN d.delay_ms = 0 THEN m.priority ELSE p_now_ms + d.delay_ms END,
            m.priority, p_now_ms, 0, 0, d.delay_ms, m.lease_ms,
            octet_length(m.body) + slipring.headers_bytes(m.headers)
                + coalesce(octet_length(m.grp), 0) + coalesce(octet_length(m.dedup_id), 0),
            CASE WHEN p_queue.fifo THEN coalesce(m.grp, '') END, m.grp, m.dedup_id, m.headers,
            m.body
        FROM unnest(p_bodies, p_priorities, p_delays_ms, p_leases_ms, p_groups, p_dedup_ids,
            p_headers) WITH ORDINALITY AS m(body, priority, delay_ms, lease_ms, grp, dedup_id,
            headers, n),
            LATERAL (SELECT coalesce(m.delay_ms, p_queue.delay_ms) AS delay_ms) d
        WHERE (d.delay_ms > 0 OR NOT (p_queue.fifo OR m.priority = ANY (p_queue.lanes)))
            AND p_refused[m.n] IS NULL AND coalesce(p_first[m.n] = p_before + m.n, true)
        RETURNING state, priority, bytes)
    INSERT INTO slipring.tally (queue_id, ready, urgent, delayed, leased, parked, bytes)
    SELECT p_queue.queue_id, count(*) FILTER (WHERE a.state = 1),
        count(*) FILTER (WHERE a.state = 1 AND a.priority < 1024),
        count(*) FILTER (WHERE a.state = 0), 0, 0, sum(a.bytes)
    FROM added a HAVING count(*) > 0;
END $$;
