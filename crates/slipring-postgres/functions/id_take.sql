-- Purpose: reserves message numbers of this transaction and takes its transaction number, which
--          must come before the sender reads the generation it writes to, and before those who
--          poll are told.
-- Inputs:  p_queue; p_count, how many.
-- Lock:    none.
-- Index:   none.
-- Answers: the number before the first.
CREATE OR REPLACE FUNCTION slipring.id_take(p_queue slipring.queue, p_count int)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_xid bigint := pg_current_xact_id()::text::bigint;
    v_kept text := current_setting('slipring.sent', true);
    v_sent bigint := 0;
BEGIN
    IF v_kept <> '' THEN
        v_sent := v_kept::bigint;
    END IF;
    IF v_sent + p_count > 262143 THEN
        PERFORM slipring.fail('SR006', format('transaction_messages_max is 262143, but %s was '
            'asked for', v_sent + p_count), jsonb_build_object('limit',
            'transaction_messages_max', 'limit_value', 262143, 'asked', v_sent + p_count));
    END IF;
    PERFORM nextval(p_queue.activity),
        set_config('slipring.sent', (v_sent + p_count)::text, true);
    RETURN ((v_xid + p_queue.xid_base) << 18) + v_sent - 1;
END $$;
