-- Purpose: whether the log of a queue has ready messages that this snapshot sees. If not, a receive by SQL
--          does not call taken_ask.
-- Inputs:  p_queue, which the caller holds, see queue_hold.
-- Lock:    none.
-- Index:   see state_read, log_any.
CREATE OR REPLACE FUNCTION slipring.taken_useful(p_queue slipring.queue)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_state slipring.state := slipring.state_read(p_queue);
    -- Before the tables are named: who is over has written to one of these.
    v_done int8multirange := slipring.cut(p_queue.xid_base);
BEGIN
    RETURN slipring.log_any(slipring.live_tables(p_queue, v_state), v_state.lanes, ARRAY(
        SELECT o.open * v_done FROM unnest(v_state.open) WITH ORDINALITY AS o(open, n) ORDER BY o.n));
END $$;
