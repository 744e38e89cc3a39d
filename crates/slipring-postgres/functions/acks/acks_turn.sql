-- Purpose: takes in all acks that users' transactions have committed by now, as far as one turn of background work
--          goes; the next turn goes on.
-- Inputs:  p_queue; p_now_ms; p_began, when the turn began.
-- Lock:    the caller holds the queue's lock.
-- Index:   see acks_take, acks_read.
-- Answers: the state, and whether all were taken in.
CREATE OR REPLACE FUNCTION slipring.acks_turn(
    p_queue slipring.queue, p_now_ms bigint, p_began timestamptz, OUT state slipring.state,
    OUT done boolean)
LANGUAGE plpgsql AS $$
DECLARE
    v_done int8multirange := slipring.cut(p_queue.xid_base);
BEGIN
    state := slipring.state_read(p_queue);
    LOOP
        state := slipring.acks_take(p_queue, state, p_now_ms, {{ACKS_STEP}});
        done := NOT EXISTS (SELECT FROM slipring.acks_read(p_queue.queue_id, state.acks * v_done));
        EXIT WHEN done OR slipring.turn_over(p_began);
    END LOOP;
END $$;
