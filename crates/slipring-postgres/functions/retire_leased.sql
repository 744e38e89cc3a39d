-- Purpose: how many leased messages a table that wants to retire still has; those in leases that
--          began long ago are moved to the shelf, with lease and fence, at most 1,000.
-- Inputs:  p_queue; p_table; p_before_ms: leases that began before may be moved.
-- Lock:    the caller holds the queue's lock.
-- Index:   lease_newest, the table's order index.
CREATE OR REPLACE FUNCTION slipring.retire_leased(
    p_queue slipring.queue, p_table text, p_before_ms bigint)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_state slipring.state := slipring.state_read(p_queue);
    v_lease slipring.lease;
    v_ids bigint[];
    v_n int;
    v_left bigint := 0;
    v_moved bigint := 0;
BEGIN
    v_state.seq := v_state.seq + 1;
    FOR v_lease IN SELECT * FROM slipring.lease_open(p_queue.queue_id) l ORDER BY l.fence LOOP
        v_ids := ARRAY(SELECT m.id FROM slipring.lease_members(p_table, v_lease, 1001) m);
        v_n := cardinality(v_ids);
        CONTINUE WHEN v_n = 0;
        IF v_lease.leased_ms >= p_before_ms OR v_moved + v_n > 1000 THEN
            v_left := v_left + v_n;
            CONTINUE;
        END IF;
        v_state := (slipring.lease_ack(p_queue, v_state, v_ids,
            array_fill(v_lease.fence, ARRAY[v_n]))).p_state;
        PERFORM slipring.log_to_items(p_table, p_queue, array_fill(v_lease.lane, ARRAY[v_n]),
            v_ids, array_fill(2, ARRAY[v_n]), array_fill(v_lease.deadline_ms, ARRAY[v_n]), NULL,
            array_fill(1::bigint, ARRAY[v_n]), array_fill(v_lease.fence, ARRAY[v_n]),
            array_fill(v_lease.leased_ms, ARRAY[v_n]), NULL, NULL,
            array_fill(v_lease.holder, ARRAY[v_n]));
        v_moved := v_moved + v_n;
    END LOOP;
    IF v_moved > 0 THEN
        PERFORM slipring.state_write(p_queue, v_state);
    END IF;
    RETURN v_left;
END $$;
