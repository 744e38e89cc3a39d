-- Purpose: brings messages of a FIFO queue from the log into their groups, until open groups have
--          as many as are wanted and the log none that was sent before the last of them.
-- Inputs:  p_queue, p_state; p_wanted.
-- Lock:    the caller holds the queue's lock.
-- Index:   the partitions' order indexes; the shelf's indexes grow.
-- Answers: the state, changed where messages were brought in; the change is written.
CREATE OR REPLACE FUNCTION slipring.fifo_bring_in(
    p_queue slipring.queue, p_state slipring.state, p_wanted bigint)
RETURNS slipring.state LANGUAGE plpgsql AS $$
DECLARE
    v_from text := slipring.live_tables(p_queue, p_state);
    v_done int8multirange := slipring.cut(p_queue.xid_base);
    v_step bigint := greatest(p_wanted, 100);
    v_feed record;
    v_open record;
    v_left record;
BEGIN
    PERFORM slipring.fifo_refresh(p_queue);
    LOOP
        SELECT count(*) AS n, max(f.id) AS last INTO v_open
        FROM slipring.fifo_open(p_queue.queue_id, p_wanted) f;
        SELECT array_agg(f.id) AS ids, array_agg(f.bytes) AS sizes INTO v_feed
        FROM slipring.log_feed(p_queue, p_state, v_done, CASE WHEN v_open.n < p_wanted
            THEN v_step ELSE 1 END) f;
        EXIT WHEN v_feed.ids IS NULL
            OR (v_open.n >= p_wanted AND v_feed.ids[1] > v_open.last);
        IF v_open.n >= p_wanted THEN
            SELECT array_agg(f.id) AS ids, array_agg(f.bytes) AS sizes INTO v_feed
            FROM slipring.log_feed(p_queue, p_state, v_done, v_step) f;
        END IF;
        v_left := slipring.log_leave(p_state, 1, v_done, v_feed.ids, v_feed.sizes);
        p_state := v_left.p_state;
        p_state.seq := p_state.seq + 1;
        PERFORM slipring.log_to_items(v_from, p_queue,
            array_fill(0::bigint, ARRAY[cardinality(v_feed.ids)]), v_feed.ids,
            array_fill(1, ARRAY[cardinality(v_feed.ids)]), NULL, NULL,
            array_fill(0::bigint, ARRAY[cardinality(v_feed.ids)]),
            array_fill(0::bigint, ARRAY[cardinality(v_feed.ids)]), NULL, NULL, NULL);
        PERFORM slipring.state_write(p_queue, p_state);
        v_step := least(v_step * 2, 1000);
    END LOOP;
    RETURN p_state;
END $$;
