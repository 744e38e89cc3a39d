-- Purpose: ends leases of the log of which users' transactions have acked all there was.
-- Inputs:  p_state, whose seq is the one to write; p_fences, each once, and p_ids, the messages
--          that each held then. A lease holds no more since, but may hold less.
-- Lock:    the queue's lock.
-- Index:   lease_newest, a few steps for each fence.
-- Answers: the state, and the messages, with their fences, that no lease of the log held any more.
CREATE OR REPLACE FUNCTION slipring.lease_ack_ids(
    p_queue slipring.queue, INOUT p_state slipring.state, p_fences bigint[],
    p_ids int8multirange[], OUT messages bigint[], OUT fences bigint[])
LANGUAGE plpgsql AS $$
DECLARE
    v_slot int := pg_sequence_last_value('slipring.journal') % 3;
    v_seq bigint := p_state.seq;
    v_ended record;
    v_said record;
BEGIN
    SELECT sum(upper(r) - lower(r)) AS n, bool_or(lower_inf(r) OR upper_inf(r)) AS endless
    INTO v_said FROM unnest(p_ids) u CROSS JOIN LATERAL unnest(u) r;
    IF v_said.endless OR v_said.n > {{LEASE_MESSAGES_MAX}} * cardinality(p_ids)::bigint THEN
        RAISE EXCEPTION USING ERRCODE = 'data_corrupted', MESSAGE = format(
            'an ack is of %s messages, which no lease has', coalesce(v_said.n::text, 'endless'));
    END IF;
    WITH l AS MATERIALIZED (
        SELECT * FROM slipring.lease_newest(p_queue.queue_id, p_fences) WHERE n > 0),
    added AS (
        INSERT INTO slipring.lease
        SELECT v_slot, l.queue_id, l.fence, l.part, v_seq, l.lane, l.deadline_ms, l.leased_ms,
            l.holder, 0, 0, l.bytes_each, '{}'
        FROM l)
    SELECT coalesce(sum(l.n), 0) AS n, coalesce(sum(l.bytes), 0) AS bytes,
        array_agg(l.fence) AS fences, array_agg(l.open) AS open
    INTO v_ended FROM l;
    p_state.leased := p_state.leased - v_ended.n;
    p_state.leased_bytes := p_state.leased_bytes - v_ended.bytes;
    IF p_state.leased = 0 THEN
        p_state.lapse_ms := NULL;
    END IF;
    messages := '{}';
    fences := '{}';
    IF v_ended.n < v_said.n THEN
        SELECT array_agg(m.id), array_agg(m.fence) INTO messages, fences
        FROM (
            SELECT generate_series(lower(r), upper(r) - 1) AS id, a.fence
            FROM unnest(p_fences, p_ids) AS a(fence, ids)
            CROSS JOIN LATERAL unnest(a.ids) r) m
        WHERE NOT EXISTS (SELECT FROM unnest(v_ended.fences, v_ended.open) AS e(fence, open)
            WHERE e.fence = m.fence AND m.id <@ e.open);
    END IF;
END $$;
