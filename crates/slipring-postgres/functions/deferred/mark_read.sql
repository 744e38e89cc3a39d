-- Purpose: how far the pictures of a state have been read; at the very beginning where nobody has.
-- Inputs:  p_queue; p_kind, see mark; 1, 7 and 8 are those of ready pictures: untried, with one to
--          three attempts, and with more, see item_turn; 9 and 10 are those of leases, see leases_mark; 6 and 11 say
--          what is copied, see shelf_copy and journal_copy.
-- Lock:    the caller's snapshot.
-- Index:   mark_newest, backwards, one step in each slot.
CREATE OR REPLACE FUNCTION slipring.mark_read(p_queue int, p_kind int)
RETURNS slipring.mark LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_mark slipring.mark;
BEGIN
    SELECT * INTO v_mark FROM mark m
    WHERE m.queue_id = p_queue AND m.kind = p_kind ORDER BY m.seq DESC LIMIT 1;
    IF v_mark.queue_id IS NULL THEN
        v_mark.queue_id := p_queue;
        v_mark.kind := p_kind;
        v_mark.seq := 0;
        v_mark.turn := slipring.mark_low(p_kind);
        v_mark.id := {{BIGINT_MIN}};
        v_mark.unseen := '{}';
    END IF;
    RETURN v_mark;
END $$;
