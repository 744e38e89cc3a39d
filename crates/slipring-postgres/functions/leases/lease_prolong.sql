-- Purpose: gives messages in leases of the log new deadlines: a lease all of whose messages get
--          the same one goes on as it is, others are split into parts.
-- Inputs:  p_state; entry by entry p_ids, p_fences, p_untils_ms; of several entries for one
--          message the last counts.
-- Lock:    the queue's lock.
-- Index:   lease_newest; the partitions' order indexes where sizes differ.
CREATE OR REPLACE FUNCTION slipring.lease_prolong(
    p_queue slipring.queue, p_state slipring.state, p_ids bigint[], p_fences bigint[],
    p_untils_ms bigint[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_slot int := pg_sequence_last_value('slipring.journal') % 3;
    v_from text := slipring.live_tables(p_queue, p_state);
    v_lease slipring.lease;
    v_part record;
    v_bytes bigint;
    v_number bigint;
BEGIN
    p_state.seq := p_state.seq + 1;
    v_number := p_state.seq << 16;
    FOR v_lease IN SELECT * FROM slipring.lease_newest(p_queue.queue_id, p_fences) WHERE n > 0
    LOOP
        v_lease.slot := v_slot;
        v_lease.seq := p_state.seq;
        FOR v_part IN
            SELECT u.until_ms, array_agg(u.id) AS ids, count(*) AS n,
                range_agg(int8range(u.id, u.id + 1)) AS taken
            FROM (SELECT DISTINCT ON (u.id) u.*
                  FROM unnest(p_ids, p_fences, p_untils_ms)
                      WITH ORDINALITY AS u(id, fence, until_ms, n)
                  WHERE u.fence = v_lease.fence AND u.id <@ v_lease.open
                  ORDER BY u.id, u.n DESC) u
            GROUP BY u.until_ms ORDER BY u.until_ms
        LOOP
            p_state.lapse_ms := least(p_state.lapse_ms, v_part.until_ms);
            IF v_part.n = v_lease.n THEN
                v_lease.deadline_ms := v_part.until_ms;
                EXIT;
            END IF;
            IF v_lease.bytes_each IS NOT NULL THEN
                v_bytes := v_part.n * v_lease.bytes_each;
            ELSE
                EXECUTE format('SELECT sum(m.bytes) FROM unnest($2) i CROSS JOIN LATERAL %s m',
                    slipring.log_row(v_from, '$1', 'i'))
                INTO v_bytes USING v_lease.lane, v_part.ids;
            END IF;
            v_number := v_number + 1;
            INSERT INTO slipring.lease VALUES (v_slot, p_queue.queue_id, v_lease.fence, v_number,
                p_state.seq, v_lease.lane, v_part.until_ms, v_lease.leased_ms, v_lease.holder,
                v_part.n, v_bytes, v_lease.bytes_each, v_part.taken);
            v_lease.n := v_lease.n - v_part.n;
            v_lease.bytes := v_lease.bytes - v_bytes;
            v_lease.open := v_lease.open - v_part.taken;
        END LOOP;
        INSERT INTO slipring.lease SELECT (v_lease).*;
    END LOOP;
    PERFORM slipring.state_write(p_queue, p_state);
END $$;
