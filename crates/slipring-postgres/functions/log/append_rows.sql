-- Purpose: writes the rows of messages: plain ones to the log, delayed ones and those of a
--          priority without a lane to the shelf.
-- Inputs:  the queue; the number before the first message; arrays with one entry for each;
--          p_refused with an entry for each that is not stored; p_first with the number of the
--          first message with the same deduplication id, its own where it is the first.
-- Lock:    none.
-- Index:   the partition's order index and the shelf's indexes grow.
CREATE OR REPLACE FUNCTION slipring.append_rows(
    p_queue slipring.queue, p_now_ms bigint, p_before bigint, p_bodies bytea[],
    p_priorities bigint[], p_delays_ms bigint[], p_leases_ms bigint[], p_groups text[],
    p_dedup_ids text[], p_headers text[], p_refused jsonb[], p_first bigint[])
RETURNS void LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_generation bigint := slipring.generation_now(p_queue);
    v_place int := p_queue.place * 4 + v_generation % 3;
    v_slot int;
    v_entry bigint;
BEGIN
    INSERT INTO slipring.message (id, lane, sent_ms, place, bytes, priority, lease_ms,
        group_name, dedup_id, headers, body)
    SELECT p_before + m.n, p_queue.lane_base + CASE WHEN p_queue.fifo THEN 0 ELSE m.priority END, p_now_ms, v_place,
        octet_length(m.body) + slipring.headers_bytes(m.headers)
            + coalesce(octet_length(m.grp), 0) + coalesce(octet_length(m.dedup_id), 0),
        CASE WHEN p_queue.fifo THEN m.priority END, m.lease_ms, m.grp, m.dedup_id, m.headers,
        m.body
    FROM unnest(p_bodies, p_priorities, p_delays_ms, p_leases_ms, p_groups, p_dedup_ids,
        p_headers) WITH ORDINALITY AS m(body, priority, delay_ms, lease_ms, grp, dedup_id,
        headers, n)
    WHERE coalesce(m.delay_ms, p_queue.delay_ms) = 0
        AND (p_queue.fifo OR p_queue.lane_base + m.priority = ANY (p_queue.lanes))
        AND p_refused[m.n] IS NULL AND coalesce(p_first[m.n] = p_before + m.n, true);
    IF p_queue.delay_ms = 0 AND coalesce(0 = ALL (array_remove(p_delays_ms, NULL)), true)
        AND (p_queue.fifo OR slipring.lanes_of(p_queue, p_priorities) <@ p_queue.lanes) THEN
        RETURN;
    END IF;
    v_slot := slipring.shelf_slot();
    v_entry := slipring.entry_now(p_queue.xid_base);
    WITH others AS MATERIALIZED (
        SELECT p_before + m.n AS id, m.*, coalesce(m.delay_ms, p_queue.delay_ms) AS wait_ms,
            octet_length(m.body) + slipring.headers_bytes(m.headers)
                + coalesce(octet_length(m.grp), 0) + coalesce(octet_length(m.dedup_id), 0)
                AS bytes
        FROM unnest(p_bodies, p_priorities, p_delays_ms, p_leases_ms, p_groups, p_dedup_ids,
            p_headers) WITH ORDINALITY AS m(body, priority, delay_ms, lease_ms, grp, dedup_id,
            headers, n)
        WHERE (coalesce(m.delay_ms, p_queue.delay_ms) > 0
                OR NOT (p_queue.fifo OR p_queue.lane_base + m.priority = ANY (p_queue.lanes)))
            AND p_refused[m.n] IS NULL AND coalesce(p_first[m.n] = p_before + m.n, true)),
    kept AS (
        INSERT INTO slipring.item_body (slot, id, group_name, dedup_id, headers, body)
        SELECT v_slot, o.id, o.grp, o.dedup_id, o.headers, o.body FROM others o),
    added AS (
        INSERT INTO slipring.item_picture (slot, id, seq, entry, queue_id, state, turn, priority,
            sent_ms, attempts, fence, delay_ms, lease_ms, bytes, fifo_group)
        SELECT v_slot, o.id, 1, v_entry, p_queue.queue_id, (o.wait_ms = 0)::int,
            CASE WHEN o.wait_ms = 0 THEN o.priority ELSE p_now_ms + o.wait_ms END, o.priority,
            p_now_ms, 0, 0, o.wait_ms, o.lease_ms, o.bytes,
            CASE WHEN p_queue.fifo THEN coalesce(o.grp, '') END
        FROM others o),
    touched AS (
        INSERT INTO slipring.fifo_touched (slot, queue_id, name, id, entry)
        SELECT v_slot, p_queue.queue_id, coalesce(o.grp, ''), min(o.id), v_entry FROM others o
        WHERE p_queue.fifo GROUP BY coalesce(o.grp, ''))
    INSERT INTO slipring.tally (slot, queue_id, entry, ready, urgent, delayed, leased, parked,
        bytes)
    SELECT v_slot, p_queue.queue_id, v_entry, count(*) FILTER (WHERE o.wait_ms = 0),
        count(*) FILTER (WHERE o.wait_ms = 0 AND o.priority < {{PRIORITY_DEFAULT}}),
        count(*) FILTER (WHERE o.wait_ms > 0), 0, 0, sum(o.bytes)
    FROM others o HAVING count(*) > 0;
END $$;
