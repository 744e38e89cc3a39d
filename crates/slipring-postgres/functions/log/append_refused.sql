-- Purpose: which messages do not fit the limits of their queue (S12); a unit is refused as a whole.
-- Inputs:  as store_append; p_before and p_firsts as append_fits; p_busy, units that are refused already, or null.
-- Lock:    the queue's lock, to the end of the transaction, so that the answer stays right.
-- Index:   see state_count, items_count, append_fits.
-- Answers: for each message null, or the facts of the error; null when all fit.
CREATE OR REPLACE FUNCTION slipring.append_refused(
    p_queue slipring.queue, p_now_ms bigint, p_units int[], p_bodies bytea[], p_groups text[],
    p_dedup_ids text[], p_headers text[], p_before bigint, p_firsts bigint[], p_busy jsonb[])
RETURNS jsonb[] LANGUAGE plpgsql AS $$
DECLARE
    v_state slipring.state;
    v_total bigint;
    v_bytes bigint;
    v_row record;
    v_unit record;
    v_entered bigint[] := '{}';
    v_refused jsonb[];
    v_over jsonb;
    v_from int := 1;
BEGIN
    p_queue := slipring.queue_lock(p_queue.queue_id);
    v_state := slipring.state_read(p_queue);
    v_state := slipring.acks_take(p_queue, v_state, p_now_ms);
    v_state.seq := v_state.seq + 1;
    v_state := slipring.state_count(p_queue, v_state, slipring.cut(p_queue.xid_base));
    PERFORM slipring.state_write(p_queue, v_state);
    SELECT t.ready + t.delayed + t.leased + t.parked + v_state.leased
            + (SELECT sum(c) FROM unnest(v_state.counted) c),
        t.bytes + v_state.leased_bytes
            + (SELECT sum(c) FROM unnest(v_state.counted_bytes) c)
    INTO v_total, v_bytes FROM slipring.items_count(p_queue.queue_id) t;
    FOR v_unit IN
        SELECT (u.last - u.many + 1)::int AS first, u.last::int
        FROM (SELECT many, sum(many) OVER (ORDER BY n) AS last
              FROM unnest(p_units) WITH ORDINALITY AS u(many, n)) u
        WHERE u.many > 0 AND p_busy[u.last] IS NULL ORDER BY u.last
    LOOP
        v_row := slipring.append_fits(p_queue, p_before, v_unit.first, v_unit.last, p_bodies,
            p_groups, p_dedup_ids, p_headers, p_firsts, v_total, v_bytes, v_entered);
        IF v_row.p_over IS NULL THEN
            v_total := v_row.p_total;
            v_bytes := v_row.p_bytes;
            v_entered := v_row.p_entered;
        ELSE
            FOR n IN v_unit.first..v_unit.last LOOP
                v_refused[n] := v_row.p_over;
            END LOOP;
        END IF;
    END LOOP;
    RETURN v_refused;
END $$;
