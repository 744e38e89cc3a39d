-- Purpose: locks ready messages of the log, the first ones that nobody else has locked, and sets
--          apart what is not for this transaction. The rows are never changed or deleted, so the
--          locks leave nothing behind.
-- Inputs:  p_queue; p_want, how many messages; p_all, whether fewer means that there are no more
--          that nobody else has locked; p_tables, in which to look, null for all that are live.
-- Lock:    the rows', to the end of the transaction; those that are locked are passed over. The
--          queue's lock is not needed, but see queue_hold.
-- Index:   the partitions' order indexes, a range for each run of ids; one step for each row.
-- Answers: the newest state: open has the locked messages, apart the others. Where none was locked, and all
--          were not to be looked at, open is empty, and apart is not said.
CREATE OR REPLACE FUNCTION slipring.taken_apart(
    p_queue slipring.queue, p_want bigint, p_all boolean, p_tables text[] DEFAULT NULL)
RETURNS slipring.state LANGUAGE plpgsql AS $$
DECLARE
    v_state slipring.state;
    v_done int8multirange;
    v_tables text[];
    v_lanes bigint[];
    v_part record;
    v_got bigint;
    v_free int8multirange[];
    v_kept record;
    v_more boolean;
BEGIN
    -- Others take messages between the look for them and their locks: then once more, and again.
    FOR v_try IN 1..CASE WHEN p_all THEN 20 ELSE 8 END LOOP
        v_state := slipring.state_read(p_queue);
        -- Before the tables are named: who is over has written to one of these.
        v_done := slipring.taken_cut(p_queue);
        v_tables := coalesce(p_tables, slipring.live_table_names(p_queue, v_state));
        v_lanes := v_state.lanes;
        v_free := '{}';
        v_got := 0;
        v_more := false;
        FOR v_at IN 1..cardinality(v_lanes) LOOP
            v_free := v_free || '{}'::int8multirange;
            -- Nothing of a lane while the one before it has more.
            CONTINUE WHEN v_got >= p_want OR v_more;
            v_part := slipring.taken_lane(p_queue, v_tables, v_lanes[v_at], v_state.open[v_at] * v_done,
                p_want - v_got, p_all);
            v_free[v_at] := v_part.free;
            v_got := v_got + v_part.n;
            v_more := v_got > 0 AND NOT v_part.ended;
        END LOOP;
        IF v_got = 0 AND NOT p_all THEN
            v_state.open := array_fill('{}'::int8multirange, ARRAY[cardinality(v_lanes)]);
            EXIT;
        END IF;
        v_kept := slipring.taken_keep(slipring.state_read(p_queue), v_lanes, v_free);
        v_state := v_kept.p_state;
        EXIT WHEN v_got = 0 OR NOT v_kept.lost
            OR slipring.log_any(slipring.live_tables(v_tables), v_state.lanes, v_state.open);
    END LOOP;
    RETURN v_state;
END $$;
