-- Purpose: which numbers of a lane have no message any more, once the messages of a run have left the oldest
--          of the tables that the queue shares: all of the run but those in its other tables. By single
--          numbers the state would get as many runs as there were messages.
-- Inputs:  p_queue, p_state; p_table, the one that they left; p_lane; p_first, the first number of the run,
--          and p_past, above the last. All transactions with these numbers have ended.
-- Lock:    the caller holds the queue's lock.
-- Index:   the other tables' order indexes, one range.
CREATE OR REPLACE FUNCTION slipring.place_gone(
    p_queue slipring.queue, p_state slipring.state, p_table text, p_lane bigint, p_first bigint,
    p_past bigint)
RETURNS int8multirange LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_others text[] := array_remove(slipring.live_table_names(p_queue, p_state), p_table);
    v_there int8multirange;
BEGIN
    EXECUTE format('SELECT range_agg(int8range(m.id - coalesce(m.n, 1) + 1, m.id + 1))
        FROM %s m WHERE m.lane = $1 AND m.id >= $2 AND m.id < $3 + {{PACK_MESSAGES_MAX}}',
        slipring.live_tables(v_others))
    INTO v_there USING p_lane, p_first, p_past;
    RETURN int8multirange(int8range(p_first, p_past)) - coalesce(v_there, '{}');
END $$;
