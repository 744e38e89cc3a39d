-- Purpose: makes a picture of a queue its newest state, and tells those who poll.
-- Inputs:  p_queue; p_state as read and changed; its seq is the one to write.
-- Lock:    the caller holds the queue's lock.
-- Index:   state_newest grows by one entry; see leases_mark.
CREATE OR REPLACE FUNCTION slipring.state_write(p_queue slipring.queue, p_state slipring.state)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    p_state.slot := pg_sequence_last_value('slipring.journal') % 3;
    IF p_state.apart IS NOT NULL THEN
        FOR v_at IN 1..cardinality(p_state.apart) LOOP
            p_state.open[v_at] := p_state.open[v_at] + p_state.apart[v_at];
        END LOOP;
        p_state.apart := NULL;
    END IF;
    INSERT INTO slipring.state SELECT (p_state).*;
    -- Some verbs count on by two.
    IF p_state.seq % 16 < 2 THEN
        PERFORM slipring.leases_mark(p_queue.queue_id, p_state);
    END IF;
    -- After the row, so that the transaction has its number before the sequence moves.
    PERFORM nextval(p_queue.activity);
END $$;
