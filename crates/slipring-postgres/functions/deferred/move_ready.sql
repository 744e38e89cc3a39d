-- Purpose: moves the first ready messages of a queue to another.
-- Inputs:  p_source, p_target, p_limit.
-- Lock:    the source's lock; the target's row against deletion.
-- Index:   the partitions' order indexes, see items_first.
-- Answers: how many; of a FIFO queue those with the lowest numbers, as its marks go.
CREATE OR REPLACE FUNCTION slipring.move_ready(
    p_source slipring.queue, p_target slipring.queue, p_limit bigint)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_state slipring.state := slipring.state_read(p_source);
    v_from text := slipring.live_tables(p_source, v_state);
    v_done int8multirange := slipring.cut(p_source.xid_base);
    v_lane record;
    v_moved bigint := 0;
    v_n int;
BEGIN
    IF v_state.taken IS NOT NULL THEN
        v_state := slipring.taken_apart(p_source, p_limit, true);
    END IF;
    v_state.seq := v_state.seq + 1;
    FOR v_lane IN
        SELECT m.at, m.kind, array_agg(m.id ORDER BY m.id) AS ids,
            array_agg(m.turn ORDER BY m.turn, m.id) AS turns,
            array_agg(m.id ORDER BY m.turn, m.id) AS ids_ranked,
            array_agg(m.bytes ORDER BY m.id) AS sizes
        FROM (SELECT * FROM (
                SELECT f.at, 0 AS kind, 0::bigint AS turn, CASE WHEN NOT p_source.fifo
                    THEN v_state.lanes[f.at] & {{PRIORITY_MAX}} ELSE 0 END AS rank, f.id,
                    f.bytes
                FROM slipring.log_feed(p_source, v_state, v_done, p_limit) f
                UNION ALL
                SELECT 0, k, i.turn, CASE WHEN p_source.fifo THEN 0 ELSE i.priority END, i.id, i.bytes
                FROM unnest(ARRAY[1, 7, 8]) k CROSS JOIN LATERAL slipring.items_first(
                    slipring.mark_read(p_source.queue_id, k), '{[0,)}', p_limit) i) m
              ORDER BY m.rank, m.id LIMIT p_limit) m
        GROUP BY m.at, m.kind
    LOOP
        v_n := cardinality(v_lane.ids);
        v_moved := v_moved + v_n;
        IF v_lane.at = 0 THEN
            PERFORM slipring.item_move(p_source, p_target, v_lane.ids, NULL);
            PERFORM slipring.mark_write(slipring.mark_read(p_source.queue_id, v_lane.kind),
                v_lane.turns[v_n], v_lane.ids_ranked[v_n] + 1, v_done);
            CONTINUE;
        END IF;
        v_state := (slipring.log_leave(v_state, v_lane.at, v_done, v_lane.ids,
            v_lane.sizes)).p_state;
        PERFORM slipring.log_to_items(v_from, p_target,
            array_fill(v_state.lanes[v_lane.at], ARRAY[v_n]), v_lane.ids,
            array_fill(1, ARRAY[v_n]), NULL, NULL, array_fill(0::bigint, ARRAY[v_n]),
            array_fill(0::bigint, ARRAY[v_n]), NULL, NULL, NULL, NULL, true);
    END LOOP;
    IF v_moved > 0 THEN
        PERFORM slipring.state_write(p_source, v_state);
    END IF;
    RETURN v_moved;
END $$;
