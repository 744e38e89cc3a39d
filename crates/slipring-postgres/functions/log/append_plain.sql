-- Purpose: stores messages that are nothing but bodies, all of one priority and lease and without
--          delay, in the log.
-- Inputs:  p_queue; p_now_ms; p_bodies, one for each row; p_priority; p_delay_ms, 0, or null for
--          the queue's; p_lease_ms of their own or null; p_ns and p_eachs_bytes of packs, see
--          message, or null where there are none.
-- Lock:    none.
-- Index:   queue_pkey; the partition's order index grows.
-- Answers: the number of the first, the others follow it; null, with nothing done, where the
--          priority has no lane or the queue has settings that ask for more: then append_rows and
--          what stands before it have to be gone through.
CREATE OR REPLACE FUNCTION slipring.append_plain(
    p_queue int, p_now_ms bigint, p_bodies bytea[], p_priority bigint, p_delay_ms bigint,
    p_lease_ms bigint, p_ns int[], p_eachs_bytes int[])
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_queue slipring.queue;
    v_before bigint;
    v_place int;
    v_count int := cardinality(p_bodies);
BEGIN
    SELECT * INTO v_queue FROM slipring.queue q
    WHERE q.queue_id = p_queue AND NOT q.fifo AND q.lane_base + p_priority = ANY (q.lanes)
        AND coalesce(p_delay_ms, q.delay_ms) = 0 AND q.messages_max IS NULL AND q.bytes_max IS NULL;
    IF v_queue.queue_id IS NULL THEN
        RETURN NULL;
    END IF;
    PERFORM slipring.commit_mode(v_queue.relaxed);
    IF p_ns IS NOT NULL THEN
        v_count := (SELECT sum(coalesce(n, 1)) FROM unnest(p_ns) n);
    END IF;
    v_before := slipring.id_take(v_queue, v_count);
    v_place := v_queue.place * 4 + slipring.generation_now(v_queue) % 3;
    INSERT INTO slipring.message (id, lane, sent_ms, place, bytes, n, bytes_each, lease_ms,
        body)
    SELECT v_before + sum(coalesce(b.n, 1)) OVER (ROWS UNBOUNDED PRECEDING),
        v_queue.lane_base + p_priority, p_now_ms,
        v_place, octet_length(b.body) - coalesce(2 * b.n, 0), b.n, b.bytes_each, p_lease_ms,
        b.body
    FROM unnest(p_bodies, p_ns, p_eachs_bytes) AS b(body, n, bytes_each);
    RETURN v_before + 1;
END $$;
