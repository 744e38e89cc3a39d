-- Purpose: copies messages that leave leases of the log to the shelf: of their own queue, or of its
--          dead-letter queue.
-- Inputs:  p_from, the live tables; p_queue; p_target, the dead-letter queue or null; p_moves.
-- Lock:    the queue's lock; p_target's row against deletion.
-- Index:   as log_to_items.
CREATE OR REPLACE FUNCTION slipring.moves_apply(
    p_from text, p_queue slipring.queue, p_target slipring.queue, p_moves slipring.move[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_dead boolean;
BEGIN
    FOR v_dead IN SELECT DISTINCT m.dead FROM unnest(p_moves) m LOOP
        PERFORM slipring.log_to_items(p_from, CASE WHEN v_dead THEN p_target ELSE p_queue END,
            array_agg(m.lane), array_agg(m.id), array_agg(m.state), array_agg(m.until_ms),
            array_agg(m.priority), array_agg(m.attempts), array_agg(m.fence),
            array_agg(m.first_ms), array_agg(m.delay_ms),
            CASE WHEN v_dead THEN p_queue.name END, NULL, v_dead,
            p_failures => array_agg(m.failures))
        FROM unnest(p_moves) m WHERE m.dead = v_dead;
    END LOOP;
END $$;
