-- Purpose: brings messages of a FIFO queue from the log into their groups, until the log has none,
--          or 1,000 are ready that were brought in, or 4 MiB of them, and open groups have as many as
--          are wanted: so far a receive sees what else its groups have (S7.7). It stops
--          earlier, and leaves the rest to a later call, once it has written 4 MiB; or once it has done a
--          step, so many are ready, and the turn is over.
--          Then brings those groups up to date in which others, without the queue's lock, have put
--          messages: senders with a delay, and other queues' dead letters.
-- Inputs:  p_queue, p_state; p_wanted, 0 where nothing is given; p_began, when the turn began.
-- Lock:    the caller holds the queue's lock.
-- Index:   the partitions' order indexes; the shelf's indexes grow; mark_newest;
--          fifo_touched_queue for entries that the mark has not seen; see fifo_groups_set.
-- Answers: the state, changed where messages were brought in; the change is written. What is left in
--          the log, fifo_before tells.
CREATE OR REPLACE FUNCTION slipring.fifo_bring_in(
    p_queue slipring.queue, p_state slipring.state, p_wanted bigint,
    p_began timestamptz DEFAULT clock_timestamp())
RETURNS slipring.state LANGUAGE plpgsql AS $$
DECLARE
    v_from text := slipring.live_tables(p_queue, p_state);
    v_done int8multirange := slipring.cut(p_queue.xid_base);
    v_there record := slipring.items_count(p_queue.queue_id);
    v_step bigint := least(greatest(p_wanted, 100), {{TURN_MESSAGES_MAX}});
    v_bytes bigint := 0;
    v_stepped boolean := false;
    v_feed record;
    v_left record;
    v_n int;
    v_mark slipring.mark;
    v_touched record;
BEGIN
    -- Of those that are ready, as far as the counts tell.
    v_there.bytes := v_there.bytes * v_there.ready / greatest(
        v_there.ready + v_there.delayed + v_there.leased + v_there.parked, 1);
    WHILE v_bytes < {{TURN_BYTES_MAX}} LOOP
        IF v_there.ready >= {{TURN_MESSAGES_MAX}} OR v_there.bytes >= {{TURN_BYTES_MAX}} THEN
            EXIT WHEN v_stepped AND slipring.turn_over(p_began) OR (SELECT count(*) FROM slipring.fifo_open(
                p_queue.queue_id, p_wanted, p_wanted,
                slipring.fifo_before(p_queue, p_state, v_done))) >= p_wanted;
        END IF;
        SELECT array_agg(f.id) AS ids, array_agg(f.bytes) AS sizes, sum(f.bytes) AS bytes INTO v_feed
        FROM (SELECT f.id, f.bytes, sum(f.bytes) OVER (ROWS UNBOUNDED PRECEDING) AS until
              FROM slipring.log_feed(p_queue, p_state, v_done, v_step) f) f
        WHERE f.until - f.bytes < {{TURN_BYTES_MAX}} - v_bytes;
        EXIT WHEN v_feed.ids IS NULL;
        v_n := cardinality(v_feed.ids);
        v_left := slipring.log_leave(p_state, 1, v_done, v_feed.ids, v_feed.sizes);
        p_state := v_left.p_state;
        p_state.seq := p_state.seq + 1;
        PERFORM slipring.log_to_items(v_from, p_queue,
            array_fill(p_queue.lane_base, ARRAY[v_n]), v_feed.ids, array_fill(1, ARRAY[v_n]), NULL, NULL,
            array_fill(0::bigint, ARRAY[v_n]), array_fill(0::bigint, ARRAY[v_n]), NULL, NULL,
            NULL, p_before => v_feed.ids[v_n]);
        PERFORM slipring.state_write(p_queue, p_state);
        v_there.ready := v_there.ready + v_n;
        v_there.bytes := v_there.bytes + v_feed.bytes;
        v_bytes := v_bytes + v_feed.bytes;
        v_stepped := true;
        v_step := least(v_step * 2, {{TURN_MESSAGES_MAX}});
    END LOOP;
    -- Last, when it is known which groups have something in the log.
    v_mark := slipring.mark_read(p_queue.queue_id, 5);
    v_done := slipring.cut(p_queue.xid_base);
    SELECT array_agg(t.name) AS names, array_agg(t.id) AS ids INTO v_touched
    FROM slipring.spans(CASE WHEN v_mark.seq = 0 THEN '{[0,)}' ELSE v_mark.unseen END) r
    CROSS JOIN LATERAL (
        SELECT t.name, t.id FROM fifo_touched t
        WHERE t.queue_id = p_queue.queue_id AND t.entry >= r.first
            AND t.entry < r.past OFFSET 0) t;
    IF v_touched.names IS NOT NULL THEN
        PERFORM slipring.fifo_groups_set(p_queue, v_touched.names, v_touched.ids, NULL, false,
            slipring.fifo_before(p_queue, p_state, v_done));
        PERFORM slipring.mark_write(v_mark, 0, 0, v_done);
    END IF;
    RETURN p_state;
END $$;
