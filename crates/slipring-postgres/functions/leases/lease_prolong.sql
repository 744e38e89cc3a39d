-- Purpose: gives messages in leases of the log new deadlines: a lease all of whose messages get
--          the same one goes on as it is, others are split into parts.
-- Inputs:  p_state; entry by entry p_ids, p_fences, p_untils_ms; of several entries for one
--          message the last counts.
-- Lock:    the queue's lock.
-- Index:   see lease_find; lease_newest, one step for each lease; the partitions' order indexes where sizes differ.
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
    FOR v_part IN
        SELECT e.*, l.newest
        FROM (
            SELECT u.fence, u.part, u.until_ms, array_agg(u.message) AS ids, count(*) AS n,
                range_agg(int8range(u.message, u.message + 1)) AS taken,
                row_number() OVER (PARTITION BY u.fence, u.part ORDER BY u.until_ms) AS nth,
                count(*) OVER (PARTITION BY u.fence, u.part) AS many
            FROM (SELECT DISTINCT ON (f.fence, f.message) f.*, p_untils_ms[f.n] AS until_ms
                  FROM slipring.lease_find(p_queue.queue_id, p_ids, p_fences) f
                  WHERE f.part IS NOT NULL ORDER BY f.fence, f.message, f.n DESC) u
            GROUP BY u.fence, u.part, u.until_ms) e
        LEFT JOIN LATERAL (
            SELECT l AS newest FROM lease l WHERE l.queue_id = p_queue.queue_id
                AND l.fence = e.fence AND l.part = e.part
            ORDER BY l.seq DESC LIMIT 1) l ON e.nth = 1
        ORDER BY e.fence, e.part, e.nth
    LOOP
        p_state.lapse_ms := least(p_state.lapse_ms, v_part.until_ms);
        IF v_part.nth = 1 THEN
            v_lease := v_part.newest;
            v_lease.slot := v_slot;
            v_lease.seq := p_state.seq;
        END IF;
        IF v_part.n = v_lease.n THEN
            v_lease.deadline_ms := v_part.until_ms;
        ELSE
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
        END IF;
        IF v_part.nth = v_part.many THEN
            INSERT INTO slipring.lease SELECT (v_lease).*;
        END IF;
    END LOOP;
    PERFORM slipring.state_write(p_queue, p_state);
END $$;
