-- Purpose: reserves message numbers of this transaction and takes its transaction number, which
--          must come before the sender reads the generation it writes to, and before those who
--          poll are told. The number 0 is for a send that is a transaction's first write, which
--          needs to remember nothing: whoever comes later sees that the transaction has a number.
-- Inputs:  p_queue; p_count, how many.
-- Lock:    see number_take.
-- Index:   none.
-- Answers: the number before the first.
CREATE OR REPLACE FUNCTION slipring.id_take(p_queue slipring.queue, p_count int)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_new boolean := pg_current_xact_id_if_assigned() IS NULL;
    v_xid bigint := pg_current_xact_id()::text::bigint;
    v_next bigint;
    v_told bigint;
BEGIN
    IF p_queue.home_at <> p_queue.written_at THEN
        PERFORM slipring.queue_at_home(p_queue);
    END IF;
    v_next := slipring.number_take(p_queue.name, v_new, p_count);
    v_told := nextval(p_queue.activity);
    RETURN ((v_xid + p_queue.xid_base) << {{XID_SHIFT}}) + v_next - 1;
END $$;
