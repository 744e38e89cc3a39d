-- Purpose: takes ready messages of the log that were sent at or before a moment out of their
--          lanes, for good.
-- Inputs:  p_queue, p_state; p_sent_until_ms; p_limit.
-- Lock:    the caller holds the queue's lock.
-- Index:   the partitions' order indexes from the head of each lane.
-- Answers: the state, not written, and how many.
CREATE OR REPLACE FUNCTION slipring.log_drop(
    p_queue slipring.queue, INOUT p_state slipring.state, p_sent_until_ms bigint,
    p_limit bigint, OUT removed bigint)
LANGUAGE plpgsql AS $$
DECLARE
    v_from text := slipring.live_tables(p_queue, p_state);
    v_done int8multirange := slipring.cut(p_queue.xid_base);
    v_range int8range;
    v_old record;
BEGIN
    removed := 0;
    FOR v_at IN 1..cardinality(p_state.lanes) LOOP
        FOR v_range IN SELECT unnest(p_state.open[v_at] * v_done) LOOP
            EXIT WHEN removed >= p_limit;
            EXECUTE format('
                SELECT array_agg(id ORDER BY id) FILTER (WHERE old) AS ids,
                    array_agg(bytes ORDER BY id) FILTER (WHERE old) AS sizes,
                    coalesce(min(id) FILTER (WHERE NOT old), max(id) + 1) AS until,
                    range_agg(int8range(id, id + 1)) FILTER (WHERE old) AS singles
                FROM (SELECT id, bytes, sent_ms <= $4 AS old FROM %s m LIMIT $5) m',
                slipring.log_rows(v_from, '$1', '$2', '$3'))
            INTO v_old USING p_state.lanes[v_at], lower(v_range), upper(v_range),
                p_sent_until_ms, p_limit - removed;
            CONTINUE WHEN v_old.ids IS NULL;
            -- Up to the first younger one the range goes as a whole; behind it one by one.
            p_state.open[v_at] := p_state.open[v_at] - v_old.singles
                - (int8multirange(v_range) * int8multirange(int8range(NULL, v_old.until)));
            p_state := slipring.state_uncount(p_state, v_at, v_old.ids, v_old.sizes);
            removed := removed + cardinality(v_old.ids);
        END LOOP;
    END LOOP;
END $$;
