-- Purpose: receive of one message without the queue's lock, by few statements: see receive_claim,
--          which does it in all cases.
-- Inputs:  p_queue; p_now_ms; p_lease_ms or null.
-- Lock:    see taken_apart and queue_hold.
-- Index:   see state_read, items_count, taken_first, log_any, taken_next; lease's indexes grow by one entry.
-- Answers: the message with its lease; or that there is none; or, with ended not true, that
--          receive_claim has to look: the queue is a FIFO queue, paused or has no such receives yet (see taken_may),
--          in_flight_max is near, messages have pictures, or other transactions seem to have locked all
--          that are ready.
CREATE OR REPLACE FUNCTION slipring.receive_one(
    p_queue slipring.queue, p_now_ms bigint, p_lease_ms bigint, OUT message slipring.message,
    OUT fence bigint, OUT deadline_ms bigint, OUT ended boolean)
LANGUAGE plpgsql AS $$
DECLARE
    v_queue slipring.queue := slipring.queue_hold(p_queue.queue_id);
    v_state slipring.state;
    v_done int8multirange;
    v_todos int8multirange[];
    v_todo int8multirange;
    v_tables text[];
    v_found record;
    v_lane bigint;
    v_any boolean;
    v_there record;
    v_most bigint;
BEGIN
    IF v_queue.fifo OR slipring.queue_paused(v_queue, p_now_ms)
        OR v_queue.home_at <> v_queue.written_at THEN
        RETURN;
    END IF;
    v_there := slipring.items_count(v_queue.queue_id);
    IF v_there.ready > 0 THEN
        RETURN;
    END IF;
    v_most := v_queue.in_flight_max - v_there.leased;
    FOR v_try IN 1..8 LOOP
        v_state := slipring.state_read(v_queue);
        IF NOT slipring.taken_may(v_state)
            OR v_state.leased + {{IN_FLIGHT_NEAR}} > v_most
        THEN
            RETURN;
        END IF;
        -- Before the tables are named: who is over has written to one of these.
        v_done := slipring.taken_cut(v_queue);
        v_tables := slipring.live_table_names(v_queue, v_state);
        v_any := false;
        v_todos := '{}';
        FOR v_at IN 1..cardinality(v_state.lanes) LOOP
            v_lane := v_state.lanes[v_at];
            v_todo := v_state.open[v_at] * v_done;
            v_todos := v_todos || v_todo;
            WHILE NOT isempty(v_todo) LOOP
                v_found := slipring.taken_first(v_queue, v_tables, v_lane, v_todo);
                v_any := v_found.region IS NOT NULL;
                -- On behind a pack of which others have all. Rows that a batch has locked may be
                -- thousands: receive_claim looks elsewhere.
                EXIT WHEN v_any OR (v_found.message).id IS NULL;
                IF (v_found.message).n IS NULL THEN
                    RETURN;
                END IF;
                v_todo := v_todo - int8multirange(int8range(
                    (v_found.message).id - (v_found.message).n, (v_found.message).id, '(]'));
            END LOOP;
            EXIT WHEN v_any;
        END LOOP;
        IF NOT v_any THEN
            -- A ready message may be passed over because of the advisory lock of a transaction that
            -- found its row locked: receive_claim looks by locks of rows.
            ended := NOT slipring.log_any(slipring.live_tables(v_tables), v_state.lanes, v_todos);
            RETURN;
        END IF;
        -- Read after the lock, which has given the transaction its number: the rotation that ends
        -- hand-outs without the queue's lock waits for all transactions that have one by then.
        IF NOT slipring.taken_may(v_state) THEN
            RETURN;
        END IF;
        -- The transaction that had the lock before may have committed a hand-out of the message
        -- since the state was read.
        ended := v_state.seq = (SELECT s.seq FROM state s WHERE s.queue_id = v_queue.queue_id
                ORDER BY s.seq DESC LIMIT 1)
            AND NOT EXISTS (SELECT FROM slipring.taken_spans(v_state.taken) r
                CROSS JOIN LATERAL (SELECT l.open FROM lease l
                    WHERE l.queue_id = v_queue.queue_id AND l.fence >= r.first AND l.fence < r.past
                        AND l.part = 0 AND l.seq = 0 AND l.fence <@ v_state.taken OFFSET 0) t
                WHERE v_found.id <@ t.open);
        EXIT WHEN ended;
        -- Or the state is newer and the message as ready as before.
        v_state := slipring.state_read(v_queue);
        v_found.region := v_found.region
            * v_state.open[array_position(v_state.lanes, v_lane)];
        ended := v_found.id <@ v_found.region AND slipring.taken_may(v_state);
        EXIT WHEN ended;
    END LOOP;
    IF ended IS NOT TRUE THEN
        RETURN;
    END IF;
    message := v_found.message;
    IF message.n IS NOT NULL THEN
        message := slipring.pack_message(message, v_found.id);
    END IF;
    fence := slipring.taken_next(v_queue);
    deadline_ms := p_now_ms
        + coalesce(p_lease_ms, message.lease_ms, v_queue.visibility_timeout_ms);
    INSERT INTO slipring.lease VALUES (pg_sequence_last_value('slipring.journal') % 3,
        v_queue.queue_id, fence, 0, 0, v_lane, deadline_ms, p_now_ms, NULL, 1, message.bytes,
        message.bytes, v_found.region);
    -- After the row, so that the transaction has its number before the sequence moves.
    PERFORM nextval(v_queue.activity);
END $$;
