-- Purpose: writes what settle_items has decided.
-- Inputs:  p_target, the dead-letter queue or null; p_done, what leaves the queue; p_dead, what goes
--          to the target; p_moves, what stays.
-- Lock:    the queue's lock and those of the leases.
-- Index:   see item_set and item_move.
CREATE OR REPLACE FUNCTION slipring.settle_items_apply(
    p_queue slipring.queue, p_target slipring.queue, p_done bigint[], p_dead bigint[],
    p_moves slipring.move[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM slipring.item_remove(p_queue, p_done);
    IF p_moves <> '{}' THEN
        PERFORM slipring.item_set(p_queue, array_agg(m.id), array_agg(m.state),
            array_agg(m.until_ms), array_agg(m.priority), array_agg(m.attempts), NULL,
            array_agg(m.delay_ms))
        FROM unnest(p_moves) m;
    END IF;
    IF p_dead <> '{}' THEN
        PERFORM slipring.item_move(p_queue, p_target, p_dead, p_queue.name);
    END IF;
    IF p_moves <> '{}' OR p_dead <> '{}' THEN
        PERFORM slipring.endings_note(p_queue);
    END IF;
END $$;
