-- Purpose: takes messages out of the leases of the log that their fences name.
-- Inputs:  p_state, whose seq is the one to write: it may have been read a moment ago; p_messages and p_fences,
--          entry by entry.
-- Lock:    the queue's lock.
-- Index:   lease_newest, a few steps for each fence; the partitions' order indexes where only
--          some messages of different sizes leave a lease; see taken_read.
-- Answers: the state, and rest, the places of entries that no lease of the log covers.
CREATE OR REPLACE FUNCTION slipring.lease_ack(
    p_queue slipring.queue, INOUT p_state slipring.state, p_messages bigint[],
    p_fences bigint[], OUT rest int[])
LANGUAGE plpgsql AS $$
DECLARE
    v_slot int := pg_sequence_last_value('slipring.journal') % 3;
    v_from text;
    v_lease record;
    v_bytes bigint;
BEGIN
    rest := '{}';
    FOR v_lease IN
        WITH e AS (
            SELECT u.message, u.fence, min(u.n)::int AS n
            FROM unnest(p_messages, p_fences) WITH ORDINALITY AS u(message, fence, n)
            GROUP BY u.message, u.fence),
        l AS MATERIALIZED (
            SELECT * FROM slipring.lease_newest(p_queue.queue_id, p_fences))
        SELECT l.fence, l.part, l.lane, l.deadline_ms, l.leased_ms, l.holder, l.n, l.bytes,
            l.bytes_each, l.open, count(*) AS acked, array_agg(e.message) AS ids,
            range_agg(int8range(e.message, e.message + 1)) AS taken, array_agg(e.n) AS places
        FROM l JOIN e ON e.fence = l.fence AND e.message <@ l.open
        GROUP BY l.fence, l.part, l.lane, l.deadline_ms, l.leased_ms, l.holder, l.n, l.bytes,
            l.bytes_each, l.open
    LOOP
        IF v_lease.fence <@ p_state.taken THEN
            -- Of a receive without the lock that has committed since the state was read.
            p_state := slipring.taken_read(p_queue, p_state);
        END IF;
        IF v_lease.acked = v_lease.n THEN
            v_bytes := v_lease.bytes;
            v_lease.open := '{}';
        ELSIF v_lease.bytes_each IS NOT NULL THEN
            v_bytes := v_lease.acked * v_lease.bytes_each;
        ELSE
            v_from := coalesce(v_from, slipring.live_tables(p_queue, p_state));
            EXECUTE format('SELECT sum(m.bytes) FROM unnest($2) i CROSS JOIN LATERAL %s m',
                slipring.log_row(v_from, '$1', 'i'))
            INTO v_bytes USING v_lease.lane, v_lease.ids;
        END IF;
        INSERT INTO slipring.lease VALUES (v_slot, p_queue.queue_id, v_lease.fence,
            v_lease.part, p_state.seq, v_lease.lane, v_lease.deadline_ms, v_lease.leased_ms,
            v_lease.holder, v_lease.n - v_lease.acked, v_lease.bytes - v_bytes,
            v_lease.bytes_each, v_lease.open - v_lease.taken);
        p_state.leased := p_state.leased - v_lease.acked;
        p_state.leased_bytes := p_state.leased_bytes - v_bytes;
        rest := rest || v_lease.places;
    END LOOP;
    IF p_state.leased = 0 THEN
        p_state.lapse_ms := NULL;
    END IF;
    IF cardinality(rest) < cardinality(p_messages) THEN
        rest := ARRAY(SELECT n FROM generate_series(1, cardinality(p_messages)) n
                      EXCEPT SELECT unnest(rest) ORDER BY 1);
    ELSE
        rest := '{}';
    END IF;
END $$;
