-- Purpose: stores a part of a load, whole or not at all.
-- Inputs:  as store_load_append.
-- Lock:    the load's lock, shared. The queue's lock where a lane is new.
-- Index:   load_pkey, queue_pkey; see load_part_add; the partition's order index grows.
-- Answers: whether it was not there.
CREATE OR REPLACE FUNCTION slipring.load_append_rows(
    p_load bigint, p_part bigint, p_checksum bigint, p_now_ms bigint, p_bodies bytea[],
    p_priorities bigint[], p_leases_ms bigint[], p_groups text[], p_headers text[], p_ns int[],
    p_eachs_bytes int[], p_sizes bigint[], p_count int, p_largest bigint, p_largest_at int)
RETURNS boolean LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_load slipring.load;
    v_queue slipring.queue;
    v_before bigint;
    v_place int;
    v_lanes bigint[];
    v_wanted bigint[];
BEGIN
    PERFORM slipring.load_lock(p_load, false);
    v_load := slipring.load_open(p_load);
    SELECT * INTO v_queue FROM slipring.queue q WHERE q.queue_id = v_load.queue_id;
    IF v_queue.queue_id IS NULL THEN
        PERFORM slipring.queue_gone(v_load.queue_id);
    ELSIF v_queue.home_at <> v_queue.written_at THEN
        PERFORM slipring.queue_at_home(v_queue);
    ELSIF p_largest > v_queue.message_bytes_max THEN
        PERFORM slipring.fail_limit(v_queue.name, 'message_bytes_max', v_queue.message_bytes_max,
            p_largest, p_largest_at);
    END IF;
    v_before := slipring.load_part_add(v_load, p_part, p_checksum, p_now_ms, p_priorities, p_sizes,
        p_count);
    IF v_before IS NULL THEN
        RETURN false;
    END IF;
    v_lanes := slipring.lanes_learn(v_queue, p_priorities);
    v_wanted := slipring.lanes_of(v_queue, p_priorities);
    IF NOT v_wanted <@ v_lanes THEN
        PERFORM slipring.fail_limit(v_queue.name, 'load_priorities_max', {{LANES_MAX}},
            {{LANES_MAX}} + 1, (
            SELECT min(u.n) - 1 FROM unnest(v_wanted) WITH ORDINALITY AS u(p, n)
            WHERE u.p <> ALL (v_lanes))::int);
    END IF;
    -- The transaction has its number by now, which comes before the generation is read.
    v_place := v_queue.place * 4 + slipring.generation_now(v_queue) % 3;
    IF p_groups IS NULL THEN
        INSERT INTO slipring.message (id, lane, sent_ms, place, bytes, n, bytes_each, lease_ms,
            body)
        SELECT v_before + sum(coalesce(b.n, 1)) OVER (ROWS UNBOUNDED PRECEDING), v_wanted[1],
            p_now_ms, v_place, octet_length(b.body) - coalesce(2 * b.n, 0), b.n, b.bytes_each,
            p_leases_ms[1], b.body
        FROM unnest(p_bodies, p_ns, p_eachs_bytes) AS b(body, n, bytes_each);
    ELSE
        INSERT INTO slipring.message (id, lane, sent_ms, place, bytes, lease_ms, group_name,
            headers, body)
        SELECT v_before + m.n, m.lane, p_now_ms, v_place, m.size, m.lease_ms, m.grp, m.headers,
            m.body
        FROM unnest(p_bodies, v_wanted, p_leases_ms, p_groups, p_headers, p_sizes)
            WITH ORDINALITY AS m(body, lane, lease_ms, grp, headers, size, n);
    END IF;
    RETURN true;
END $$;
