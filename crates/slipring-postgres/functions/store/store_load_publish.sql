-- Purpose: makes all messages of a load ready: their numbers come back into the lanes of the queue,
--          by one new picture of its state.
-- Inputs:  p_load; p_messages, how many there have to be; p_now_ms.
-- Lock:    the load's lock alone, so that all who have appended are done; then the queue's.
-- Index:   load_pkey, load_part_pkey, load_block_pkey, queue_pkey; state_newest grows by one entry.
-- Answers: the load.
CREATE OR REPLACE FUNCTION slipring.store_load_publish(
    p_load bigint, p_messages bigint, p_now_ms bigint)
RETURNS slipring.load LANGUAGE plpgsql
SET search_path = pg_catalog, slipring, pg_temp AS $$
DECLARE
    v_load slipring.load;
    v_queue slipring.queue;
    v_state slipring.state;
    v_numbers int8multirange;
    v_sums record;
    v_at int;
BEGIN
    PERFORM slipring.load_lock(p_load, true);
    SELECT * INTO v_load FROM slipring.load l WHERE l.load_id = p_load;
    IF NOT coalesce(v_load.published, false) THEN
        v_load := slipring.load_open(p_load);
        SELECT count(*), coalesce(sum(p.messages), 0), coalesce(sum(p.bytes), 0)
        INTO v_load.parts, v_load.messages, v_load.bytes
        FROM slipring.load_part p WHERE p.load_id = v_load.load_id;
    END IF;
    IF v_load.messages IS DISTINCT FROM p_messages THEN
        PERFORM slipring.fail('SR007', format('load %s has %s messages, but %s were to be '
            'published', p_load, v_load.messages, coalesce(p_messages::text, 'null')),
            jsonb_build_object('load', p_load));
    ELSIF v_load.published THEN
        RETURN v_load;
    END IF;
    -- There may be very many parts: nobody waits for this.
    SELECT coalesce(array_agg(u.lane), '{}') AS lanes, array_agg(u.n) AS ns,
        array_agg(u.size) AS sizes INTO v_sums
    FROM (SELECT u.lane, sum(u.n)::bigint AS n, sum(u.size)::bigint AS size
          FROM slipring.load_part p, unnest(p.lanes, p.counts, p.sizes) u(lane, n, size)
          WHERE p.load_id = v_load.load_id GROUP BY u.lane) u;
    v_queue := slipring.queue_lock(v_load.queue_id);
    PERFORM slipring.commit_mode(v_queue.relaxed),
        slipring.load_room(v_queue, v_load.load_id, v_load.messages, v_load.bytes);
    v_state := slipring.state_read(v_queue);
    v_numbers := (SELECT coalesce(range_agg(int8range(b.base, b.base + {{XID_NUMBERS}})), '{}')
        FROM slipring.load_block b WHERE b.load_id = v_load.load_id);
    v_state.seq := v_state.seq + 1;
    -- They are counted here, and so not among those that a later look has to count.
    v_state.uncounted := v_state.uncounted - v_numbers;
    FOR v_n IN 1..cardinality(v_sums.lanes) LOOP
        v_at := array_position(v_state.lanes, v_queue.lane_base + v_sums.lanes[v_n]);
        v_state.open[v_at] := v_state.open[v_at] + v_numbers;
        v_state.counted[v_at] := v_state.counted[v_at] + v_sums.ns[v_n];
        v_state.counted_bytes[v_at] := v_state.counted_bytes[v_at] + v_sums.sizes[v_n];
    END LOOP;
    PERFORM slipring.state_write(v_queue, v_state);
    DELETE FROM slipring.load_block b WHERE b.load_id = v_load.load_id;
    DELETE FROM slipring.load_part p WHERE p.load_id = v_load.load_id;
    UPDATE slipring.load l SET published = true, touched_ms = p_now_ms, parts = v_load.parts,
        messages = v_load.messages, bytes = v_load.bytes
    WHERE l.load_id = v_load.load_id RETURNING * INTO v_load;
    RETURN v_load;
END $$;
