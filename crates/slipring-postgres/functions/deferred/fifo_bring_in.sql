-- Purpose: brings messages of a FIFO queue from the log into their groups, until the log has none,
--          or 1,000 are ready that were brought in and open groups have as many as are wanted:
--          so far a receive sees what else its groups have (S7.7).
-- Inputs:  p_queue, p_state; p_wanted, 0 where nothing is given.
-- Lock:    the caller holds the queue's lock.
-- Index:   the partitions' order indexes; the shelf's indexes grow.
-- Answers: the state, changed where messages were brought in; the change is written.
CREATE OR REPLACE FUNCTION slipring.fifo_bring_in(
    p_queue slipring.queue, p_state slipring.state, p_wanted bigint)
RETURNS slipring.state LANGUAGE plpgsql AS $$
DECLARE
    v_from text := slipring.live_tables(p_queue, p_state);
    v_done int8multirange := slipring.cut(p_queue.xid_base);
    v_ready bigint := (slipring.items_count(p_queue.queue_id)).ready;
    v_step bigint := greatest(p_wanted, 100);
    v_feed record;
    v_left record;
    v_n int;
BEGIN
    LOOP
        IF v_ready >= 1000 THEN
            EXIT WHEN (SELECT count(*) FROM slipring.fifo_open(p_queue.queue_id, p_wanted,
                p_wanted, slipring.fifo_before(p_queue, p_state, v_done))) >= p_wanted;
        END IF;
        SELECT array_agg(f.id) AS ids, array_agg(f.bytes) AS sizes INTO v_feed
        FROM slipring.log_feed(p_queue, p_state, v_done, v_step) f;
        EXIT WHEN v_feed.ids IS NULL;
        v_n := cardinality(v_feed.ids);
        v_left := slipring.log_leave(p_state, 1, v_done, v_feed.ids, v_feed.sizes);
        p_state := v_left.p_state;
        p_state.seq := p_state.seq + 1;
        PERFORM slipring.log_to_items(v_from, p_queue,
            array_fill(0::bigint, ARRAY[v_n]), v_feed.ids, array_fill(1, ARRAY[v_n]), NULL, NULL,
            array_fill(0::bigint, ARRAY[v_n]), array_fill(0::bigint, ARRAY[v_n]), NULL, NULL,
            NULL, p_before => v_feed.ids[v_n]);
        PERFORM slipring.state_write(p_queue, p_state);
        v_ready := v_ready + v_n;
        v_step := least(v_step * 2, 1000);
    END LOOP;
    -- Last, when it is known which groups have something in the log.
    PERFORM slipring.fifo_refresh(p_queue, p_state);
    RETURN p_state;
END $$;
