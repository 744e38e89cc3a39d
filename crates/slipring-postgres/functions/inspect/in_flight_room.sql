-- Purpose: whether the in_flight_max of a queue permits that a message is handed out.
-- Inputs:  p_queue; p_now_ms.
-- Lock:    none, but where the leases that are written down come to the limit: the queue's lock is tried,
--          and given back, to count what was acked by SQL since. Where another has it, these do not count.
-- Index:   state_newest, tally_sum_newest; see acks_take.
CREATE OR REPLACE FUNCTION slipring.in_flight_room(p_queue slipring.queue, p_now_ms bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_state slipring.state;
    v_room bigint := p_queue.in_flight_max - (slipring.items_count(p_queue.queue_id)).leased
        - (slipring.state_newest(p_queue.queue_id)).leased;
BEGIN
    IF v_room > 0 THEN
        RETURN true;
    END IF;
    BEGIN
        IF slipring.queue_free(p_queue.queue_id) THEN
            p_queue := slipring.queue_lock(p_queue.queue_id);
            v_state := slipring.acks_take(p_queue, slipring.state_read(p_queue), p_now_ms);
            -- Behind it: acks free messages that have pictures as well.
            v_room := p_queue.in_flight_max - v_state.leased
                - (slipring.items_count(p_queue.queue_id)).leased;
        END IF;
        -- What a block has locked is given back where it fails.
        RAISE EXCEPTION USING ERRCODE = 'SR100';
    EXCEPTION WHEN SQLSTATE 'SR100' THEN
        RETURN v_room > 0;
    END;
END $$;
