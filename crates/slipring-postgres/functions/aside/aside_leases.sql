-- Purpose: sets leases of the log aside that can be none, or have not the messages that they say. What
--          such a lease has of messages, as far as that can be known, lapses now.
-- Inputs:  p_queue, whose messages can all be read, see aside_messages; p_now_ms.
-- Lock:    the caller holds the queue's lock.
-- Index:   lease_newest; walks the queue's leases since the last rotation, and what those that are
--          open have.
CREATE OR REPLACE FUNCTION slipring.aside_leases(p_queue slipring.queue, p_now_ms bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_state slipring.state := slipring.state_read(p_queue);
    v_from text := slipring.live_tables(p_queue, v_state);
    v_lease slipring.lease;
    v_why text;
    v_has record;
    v_found boolean := false;
BEGIN
    v_state.seq := v_state.seq + 1;
    FOR v_lease IN
        SELECT DISTINCT ON (l.fence, l.part) l.* FROM slipring.lease l
        WHERE l.queue_id = p_queue.queue_id ORDER BY l.fence, l.part, l.seq DESC
    LOOP
        v_why := slipring.lease_fault(v_lease, v_state);
        CONTINUE WHEN v_why IS NULL AND v_lease.n = 0;
        IF v_why IS NOT NULL THEN
            v_lease := slipring.aside_lease_known(p_queue, v_state, v_lease);
        END IF;
        SELECT count(*) AS n, coalesce(sum(m.bytes), 0) AS bytes INTO v_has
        FROM slipring.lease_members(v_from, v_lease, {{LEASE_MESSAGES_MAX}}) m;
        CONTINUE WHEN v_why IS NULL AND v_has.n = v_lease.n;
        PERFORM slipring.aside_row(p_queue, 'lease',
            coalesce(v_why, format('%s messages of %s', v_has.n, v_lease.n)), v_has.n,
            to_jsonb(l), l.tableoid::regclass, l.ctid)
        FROM slipring.lease l WHERE l.queue_id = p_queue.queue_id AND l.fence = v_lease.fence
            AND l.part = v_lease.part ORDER BY l.seq;
        v_found := true;
        CONTINUE WHEN v_has.n = 0;
        -- A holder of one of these messages may have any fence: a newer fence makes his receipt stale.
        v_state.fence := v_state.fence + 1;
        INSERT INTO slipring.lease VALUES (pg_sequence_last_value('slipring.journal') % 3,
            p_queue.queue_id, v_state.fence, 0, v_state.seq, v_lease.lane, p_now_ms, p_now_ms,
            NULL, v_has.n, v_has.bytes, NULL, v_lease.open);
    END LOOP;
    SELECT coalesce(sum(l.n), 0) AS n, coalesce(sum(l.bytes), 0) AS bytes INTO v_has
    FROM slipring.lease_open(p_queue.queue_id) l
    -- Those that the state does not have yet come to it by themselves, see taken_read.
    WHERE l.seq > 0 OR NOT l.fence <@ coalesce(v_state.taken, '{}');
    IF NOT v_found AND v_has.n = v_state.leased AND v_has.bytes = v_state.leased_bytes THEN
        RETURN;
    END IF;
    v_state.leased := v_has.n;
    v_state.leased_bytes := v_has.bytes;
    v_state.lapse_ms := CASE WHEN v_has.n > 0 THEN least(v_state.lapse_ms, p_now_ms) END;
    PERFORM slipring.endings_note(p_queue, NULL), slipring.state_write(p_queue, v_state);
END $$;
