-- Purpose: writes what settle_items has decided.
-- Inputs:  p_target, the dead-letter queue or null; p_done, what leaves the queue; p_dead, what goes
--          to the target, with what is kept of the failures of each; p_moves, what stays.
-- Lock:    the queue's lock and those of the leases.
-- Index:   see item_set and item_move.
CREATE OR REPLACE FUNCTION slipring.settle_items_apply(
    p_queue slipring.queue, p_target slipring.queue, p_done bigint[], p_dead bigint[],
    p_dead_failures jsonb[], p_moves slipring.move[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF p_moves <> '{}' OR p_dead <> '{}' THEN
        -- By the pictures before they change.
        PERFORM slipring.endings_note(p_queue, ARRAY(
            SELECT i.fence FROM (SELECT m.id FROM unnest(p_moves) m UNION ALL SELECT unnest(p_dead)) u
            CROSS JOIN LATERAL slipring.item_now(u.id) i));
    END IF;
    PERFORM slipring.item_remove(p_queue, p_done);
    IF p_moves <> '{}' THEN
        PERFORM slipring.item_set(p_queue, array_agg(m.id), array_agg(m.state),
            array_agg(m.until_ms), array_agg(m.priority), array_agg(m.attempts), NULL,
            array_agg(m.delay_ms), p_failures => array_agg(m.failures))
        FROM unnest(p_moves) m;
    END IF;
    IF p_dead <> '{}' THEN
        PERFORM slipring.item_move(p_queue, p_target, p_dead, p_queue.name, p_dead_failures);
    END IF;
END $$;
