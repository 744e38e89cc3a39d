-- Purpose: writes what settle_log has decided.
-- Inputs:  p_state as settle_log has read it; p_target, the dead-letter queue or null; p_ids with
--          p_fences, what leaves its lease; p_moves, where those go that do not leave the queue.
-- Lock:    the queue's lock and those of the leases.
-- Index:   see lease_ack and moves_apply.
CREATE OR REPLACE FUNCTION slipring.settle_log_apply(
    p_queue slipring.queue, p_state slipring.state, p_target slipring.queue, p_ids bigint[],
    p_fences bigint[], p_moves slipring.move[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_from text := slipring.live_tables(p_queue, p_state);
BEGIN
    p_state.seq := p_state.seq + 1;
    p_state := (slipring.lease_ack(p_queue, p_state, p_ids, p_fences)).p_state;
    IF p_moves <> '{}' THEN
        PERFORM slipring.endings_note(p_queue, p_fences);
        PERFORM slipring.moves_apply(v_from, p_queue, p_target, p_moves);
    END IF;
    PERFORM slipring.state_write(p_queue, p_state);
END $$;
