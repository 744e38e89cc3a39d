-- Purpose: reserves message numbers of this transaction and takes its transaction number, which
--          must come before the sender reads the generation it writes to, and before those who
--          poll are told. The number 0 is for a send that is a transaction's first write, which
--          needs to remember nothing: whoever comes later sees that the transaction has a number.
-- Inputs:  p_queue; p_count, how many.
-- Lock:    none.
-- Index:   none.
-- Answers: the number before the first.
CREATE OR REPLACE FUNCTION slipring.id_take(p_queue slipring.queue, p_count int)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_xid bigint := pg_current_xact_id()::text::bigint;
    v_kept text := current_setting('slipring.sent', true);
    v_next bigint := 1;
    v_told bigint;
BEGIN
    IF p_queue.home_at <> p_queue.written_at THEN
        PERFORM slipring.queue_at_home(p_queue);
    END IF;
    IF v_kept <> '' THEN
        -- Anybody may set it; numbers of other transactions are out of reach all the same.
        v_next := greatest(v_kept::int, 1);
    END IF;
    IF v_next + p_count > {{XID_NUMBERS}} THEN
        PERFORM slipring.fail_limit(p_queue.name, 'transaction_messages_max', {{XID_MESSAGES_MAX}},
            v_next - 1 + p_count);
    END IF;
    v_kept := set_config('slipring.sent', (v_next + p_count)::text, true);
    v_told := nextval(p_queue.activity);
    RETURN ((v_xid + p_queue.xid_base) << {{XID_SHIFT}}) + v_next - 1;
END $$;
