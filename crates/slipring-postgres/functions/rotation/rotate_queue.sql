-- Purpose: one step of the rotation of a queue's message tables, if one is due: write to the next
--          generation; mark, in a later transaction, above which number nobody writes to the old
--          one; empty the old one.
-- Inputs:  p_queue; p_moved, whether the generation was seen to have moved before the
--          transaction had its number; the rest as store_rotate.
-- Lock:    the caller holds the queue's lock.
-- Index:   state_newest.
-- Answers: whether it did a step.
CREATE OR REPLACE FUNCTION slipring.rotate_queue(
    p_queue slipring.queue, p_moved boolean, p_now_ms bigint, p_bytes_min bigint,
    p_age_ms bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_state slipring.state := slipring.state_read(p_queue);
    v_now bigint := pg_sequence_last_value(p_queue.generation);
    v_bytes bigint;
    v_emptied boolean := slipring.queue_empty(p_queue, v_state);
BEGIN
    IF v_emptied THEN
        RETURN true;
    END IF;
    IF v_now = v_state.generation_low THEN
        v_bytes := pg_relation_size(format('slipring.message_%s_%s', p_queue.place,
            v_now % 3)::regclass);
        IF NOT slipring.rotation_due(v_bytes, slipring.rotation_worth(v_bytes, p_bytes_min),
                v_state.generation_since_ms, p_now_ms, p_bytes_min, p_age_ms) THEN
            RETURN false;
        END IF;
        v_state.seq := v_state.seq + 1;
        v_state.generation_since_ms := p_now_ms;
        v_state.generation_mark := NULL;
        PERFORM slipring.state_write(p_queue, v_state);
        PERFORM setval(p_queue.generation, v_now + 1);
        RETURN true;
    ELSIF v_state.generation_mark IS NULL THEN
        -- Whoever read the old generation had its number before the generation moved. That was
        -- seen before this transaction had its own, which is higher.
        IF NOT p_moved THEN
            RETURN false;
        END IF;
        v_state.seq := v_state.seq + 1;
        v_state.generation_mark := pg_current_xact_id()::text::bigint + p_queue.xid_base;
        PERFORM slipring.state_write(p_queue, v_state);
        RETURN true;
    ELSIF pg_snapshot_xmin(pg_current_snapshot())::text::bigint + p_queue.xid_base
        < v_state.generation_mark OR NOT v_emptied THEN
        -- A table is let go of when the one before it is empty.
        RETURN false;
    END IF;
    RETURN slipring.queue_retire(p_queue, format('slipring.message_%s_%s', p_queue.place,
        v_state.generation_low % 3), false, v_state.generation_since_ms, p_now_ms, p_age_ms);
END $$;
