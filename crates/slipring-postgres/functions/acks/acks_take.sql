-- Purpose: takes in acks that users' transactions have committed. Hand-outs of theirs that the state has
--          read are made few ranges: each reader of the state looks a fence up in these for each lease.
-- Inputs:  p_queue, p_state, p_now_ms; p_most, how many at most, or null for all. Who gives messages out and
--          ends no lease may leave some to the next call, so that a transaction that has acked many makes nobody
--          wait.
-- Lock:    the caller holds the queue's lock.
-- Index:   see acks_read, lease_ack_ids, lease_ack.
-- Answers: the state, changed where there were acks or many ranges; the change is written.
CREATE OR REPLACE FUNCTION slipring.acks_take(
    p_queue slipring.queue, p_state slipring.state, p_now_ms bigint,
    p_most bigint DEFAULT NULL)
RETURNS slipring.state LANGUAGE plpgsql AS $$
DECLARE
    v_many boolean := pg_column_size(p_state.taken) > {{TAKEN_BYTES}};
    v_done int8multirange;
    v_messages bigint[];
    v_fences bigint[];
    v_whole_fences bigint[];
    v_whole_ids int8multirange[];
    v_last bigint;
    v_answer record;
BEGIN
    IF v_many IS NOT TRUE AND NOT slipring.acks_wait(p_queue, p_state) THEN
        RETURN p_state;
    END IF;
    v_done := slipring.cut(p_queue.xid_base);
    IF p_state.taken IS NOT NULL THEN
        -- What is over has been read when this is done: as few ranges as there are open transactions.
        p_state := slipring.taken_read(p_queue, p_state);
        p_state.taken := p_state.taken - slipring.taken_fences(v_done);
    END IF;
    SELECT array_agg(a.message_id) FILTER (WHERE a.ids IS NULL),
        array_agg(a.fence) FILTER (WHERE a.ids IS NULL),
        array_agg(a.fence) FILTER (WHERE a.ids IS NOT NULL),
        array_agg(a.ids) FILTER (WHERE a.ids IS NOT NULL),
        CASE WHEN count(*) = p_most THEN max(a.id) END
    INTO v_messages, v_fences, v_whole_fences, v_whole_ids, v_last
    FROM (SELECT * FROM slipring.acks_read(p_queue.queue_id, p_state.acks * v_done)
          -- An ack opens its group, and makes room where there is little: nobody would look again.
          LIMIT CASE WHEN NOT p_queue.fifo AND p_state.leased
                  + (slipring.items_count(p_queue.queue_id)).leased < p_queue.in_flight_max / 2
              THEN p_most END) a;
    IF coalesce(v_messages, v_whole_fences) IS NULL THEN
        IF v_many THEN
            p_state.seq := p_state.seq + 1;
            PERFORM slipring.state_write(p_queue, p_state);
        END IF;
        RETURN p_state;
    END IF;
    p_state.seq := p_state.seq + 1;
    p_state.acks := p_state.acks - v_done * int8multirange(int8range(NULL, v_last + 1));
    IF v_whole_fences IS NOT NULL THEN
        v_answer := slipring.lease_ack_ids(p_queue, p_state, v_whole_fences, v_whole_ids);
        p_state := v_answer.p_state;
        v_messages := v_messages || v_answer.messages;
        v_fences := v_fences || v_answer.fences;
    END IF;
    IF v_messages <> '{}' THEN
        v_answer := slipring.lease_ack(p_queue, p_state, v_messages, v_fences);
        p_state := v_answer.p_state;
        PERFORM slipring.item_remove(p_queue, ARRAY(
            SELECT i.id FROM unnest(v_messages, v_fences) WITH ORDINALITY AS a(id, fence, n)
            CROSS JOIN LATERAL slipring.item_now(a.id) i
            WHERE a.n = ANY (v_answer.rest) AND i.fence = a.fence
                AND i.queue_id = p_queue.queue_id));
    END IF;
    PERFORM slipring.state_write(p_queue, p_state);
    RETURN p_state;
END $$;
