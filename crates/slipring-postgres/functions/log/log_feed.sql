-- Purpose: the first ready messages of the log in hand-out order, without their bodies.
-- Inputs:  p_queue, p_state; p_done, the cut; p_limit.
-- Lock:    the caller holds the queue's lock.
-- Index:   the partitions' order indexes, a range for each run of ids.
CREATE OR REPLACE FUNCTION slipring.log_feed(
    p_queue slipring.queue, p_state slipring.state, p_done int8multirange, p_limit bigint)
RETURNS TABLE (at int, id bigint, bytes int, lease_ms bigint, sent_ms bigint)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    v_from text := slipring.live_tables(p_queue, p_state);
    v_range int8range;
    v_found bigint := 0;
    v_count bigint;
BEGIN
    FOR v_at IN 1..cardinality(p_state.lanes) LOOP
        FOR v_range IN SELECT unnest(p_state.open[v_at] * p_done) LOOP
            RETURN QUERY EXECUTE format('SELECT $1::int, id, bytes, lease_ms, sent_ms FROM %s m
                LIMIT $5', slipring.log_rows(v_from, '$2', '$3', '$4'))
            USING v_at, p_state.lanes[v_at], lower(v_range), upper(v_range), p_limit - v_found;
            GET DIAGNOSTICS v_count = ROW_COUNT;
            v_found := v_found + v_count;
            IF v_found >= p_limit THEN
                RETURN;
            END IF;
        END LOOP;
    END LOOP;
END $$;
