-- Purpose: shows at once, before this transaction has any, which numbers it may take for a load: those of its
--          subtransactions, which are among the next LOAD_RESERVING_XIDS transaction numbers. A snapshot of others
--          does not tell that they are in progress, see taken_cut.
-- Inputs:  p_queue, of which the caller has the lock; p_own, the transaction's number.
-- Lock:    the view load_reserving_lock, which only the owner may lock, until the sequence is moved; the caller has
--          it in ROW SHARE mode, see load_only_open.
-- Index:   none.
-- Answers: the transaction number behind the last one that is shown.
CREATE OR REPLACE FUNCTION slipring.load_show(p_queue int, p_own bigint)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_shown regclass := slipring.load_reserving(p_queue);
    v_value bigint;
    v_first bigint;
    v_past bigint;
BEGIN
    LOCK TABLE slipring.load_reserving_lock IN SHARE UPDATE EXCLUSIVE MODE;
    v_value := coalesce(pg_sequence_last_value(v_shown), 0);
    v_first := v_value >> {{LOAD_SHOWN_SHIFT}};
    v_past := v_first + (v_value & {{LOAD_SHOWN_MASK}});
    -- One of another queue that is open still and this one are shown as one. Of a number in between nobody
    -- knows whether it is that of such a transaction, or of any other that is open for long.
    IF slipring.load_only_open() OR NOT slipring.load_shown_open(v_first, v_past) THEN
        v_first := p_own;
        v_past := p_own;
    END IF;
    v_first := least(v_first, p_own);
    v_past := greatest(v_past, pg_snapshot_xmax(pg_current_snapshot())::text::bigint
        + {{LOAD_RESERVING_XIDS}});
    IF v_past - v_first > {{LOAD_SHOWN_XIDS_MAX}} THEN
        RAISE EXCEPTION USING ERRCODE = '55P03', MESSAGE = 'another transaction that reserves parts of a '
            'load, or this one, has been open for too long', HINT = 'Call load_begin and load_reserve in '
            'transactions of their own, commit at once, and try again.';
    END IF;
    PERFORM setval(v_shown, (v_first << {{LOAD_SHOWN_SHIFT}}) + v_past - v_first);
    -- What a block has locked is given back where it fails; a sequence stays where it is.
    RAISE EXCEPTION USING ERRCODE = 'SR100';
EXCEPTION WHEN SQLSTATE 'SR100' THEN
    RETURN v_past;
END $$;
