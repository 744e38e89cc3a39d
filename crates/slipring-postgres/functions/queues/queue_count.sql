-- Purpose: counts some of the ready messages of the log that were not counted before, so that a look at
--          what a queue holds has few to walk over: at most about 5,000 rows at a time, and none where fewer
--          than 1,000 wait to be counted.
-- Inputs:  p_queue.
-- Lock:    the caller holds the queue's lock.
-- Index:   the partitions' order indexes, so many rows and no more.
-- Answers: whether it counted some.
CREATE OR REPLACE FUNCTION slipring.queue_count(p_queue slipring.queue)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_state slipring.state := slipring.state_read(p_queue);
    v_from text := slipring.live_tables(p_queue, v_state);
    v_todo int8multirange := v_state.uncounted * slipring.cut(p_queue.xid_base);
    v_range record;
    v_rows record;
    v_left bigint;
    v_past bigint;
    v_found bigint := 0;
BEGIN
    IF p_queue.fifo THEN
        -- Of its messages in the log a look tells how many are urgent, which no count does.
        RETURN false;
    END IF;
    FOR v_at IN 1..cardinality(v_state.lanes) LOOP
        v_left := greatest({{COUNT_ROWS}} / cardinality(v_state.lanes), 100);
        FOR v_range IN SELECT * FROM slipring.spans(v_state.open[v_at] * v_todo) LOOP
            EXECUTE format('SELECT count(*) AS n, max(id) AS last FROM (
                SELECT id FROM %s at_rest WHERE lane = $1 AND id >= $2 AND id < $3
                ORDER BY id LIMIT $4) f', v_from)
            INTO v_rows USING v_state.lanes[v_at], v_range.first, v_range.past, v_left;
            v_found := v_found + v_rows.n;
            v_left := v_left - v_rows.n;
            IF v_left <= 0 THEN
                v_past := least(v_past, v_rows.last);
                EXIT;
            END IF;
        END LOOP;
    END LOOP;
    IF v_found < {{COUNT_ROWS_MIN}} THEN
        RETURN false;
    END IF;
    IF v_past IS NOT NULL THEN
        -- To behind a row: no pack is cut, here or in another lane.
        v_todo := v_todo * int8multirange(int8range(NULL, v_past + 1));
    END IF;
    v_state := slipring.state_count(p_queue, v_state, v_todo);
    v_state.seq := v_state.seq + 1;
    PERFORM slipring.state_write(p_queue, v_state);
    RETURN true;
END $$;
