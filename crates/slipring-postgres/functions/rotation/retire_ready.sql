-- Purpose: whether a table that wants to retire still has ready messages; moves up to 1,000 of them and
--          about 4 MiB to the shelf.
-- Inputs:  p_queue; p_table; p_move, whether they may be moved; p_all, however many there are: else only
--          where there are no more.
-- Lock:    the caller holds the queue's lock.
-- Index:   the table's order index, a range for each run of ids.
-- Answers: how many were found and not moved; there may be more.
CREATE OR REPLACE FUNCTION slipring.retire_ready(
    p_queue slipring.queue, p_table text, p_move boolean, p_all boolean)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_state slipring.state := slipring.state_read(p_queue);
    v_range record;
    v_left record;
    v_n int;
    v_stay bigint := 0;
    v_sum bigint := 0;
    v_bytes bigint := 0;
BEGIN
    IF p_move AND v_state.taken IS NOT NULL THEN
        v_state := slipring.taken_apart(p_queue, {{TURN_MESSAGES_MAX}}, true, ARRAY[p_table]);
    END IF;
    <<lanes>>
    FOR v_at IN 1..cardinality(v_state.lanes) LOOP
        FOR v_range IN SELECT * FROM slipring.spans(v_state.open[v_at]) LOOP
            EXECUTE format('SELECT count(*) AS found, array_agg(id) FILTER (WHERE fits) AS ids,
                array_agg(bytes) FILTER (WHERE fits) AS sizes,
                range_agg(int8range(id, id + 1)) FILTER (WHERE fits) AS taken, sum(bytes) AS bytes
                FROM (SELECT id, bytes, sum(bytes) OVER (ROWS UNBOUNDED PRECEDING) - bytes
                        < {{TURN_BYTES_MAX}} AS fits
                    FROM (SELECT id, bytes FROM %s m LIMIT {{TURN_MESSAGES_MAX}}) m) m',
                slipring.log_rows(p_table, '$1', '$2', '$3'))
            INTO v_left USING v_state.lanes[v_at], v_range.first, v_range.past;
            v_n := coalesce(cardinality(v_left.ids), 0);
            CONTINUE WHEN v_n = 0;
            IF NOT p_move OR p_queue.fifo OR NOT p_all
                    AND v_sum + v_left.found >= {{TURN_MESSAGES_MAX}} THEN
                -- Those that were moved before stay moved: they have left their lanes below.
                v_stay := v_n;
                EXIT lanes;
            END IF;
            PERFORM slipring.log_to_items(p_table, p_queue,
                array_fill(v_state.lanes[v_at], ARRAY[v_n]), v_left.ids,
                array_fill(1, ARRAY[v_n]), NULL, NULL, array_fill(0::bigint, ARRAY[v_n]),
                array_fill(0::bigint, ARRAY[v_n]), NULL, NULL, NULL);
            IF p_queue.generation_low IS NOT NULL THEN
                v_left.taken := slipring.place_gone(p_queue, v_state, p_table,
                    v_state.lanes[v_at], v_range.first, v_left.ids[v_n] + 1);
            END IF;
            v_state.open[v_at] := v_state.open[v_at] - v_left.taken;
            v_state := slipring.state_uncount(v_state, v_at, v_left.ids, v_left.sizes);
            v_sum := v_sum + v_n;
            v_bytes := v_bytes + v_left.bytes;
            IF v_sum >= {{TURN_MESSAGES_MAX}} OR v_bytes >= {{TURN_BYTES_MAX}} THEN
                -- The rest has not been looked at.
                v_stay := 1;
                EXIT lanes;
            END IF;
        END LOOP;
    END LOOP;
    IF v_stay = 0 AND v_state.apart IS NOT NULL AND slipring.log_any(p_table, v_state.lanes,
            v_state.apart) THEN
        v_stay := 1;
    END IF;
    IF v_sum > 0 THEN
        v_state.seq := v_state.seq + 1;
        PERFORM slipring.state_write(p_queue, v_state);
    END IF;
    RETURN v_stay;
END $$;
