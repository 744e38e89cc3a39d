-- Purpose: writes the first state of a new queue.
-- Inputs:  p_queue, p_now_ms.
-- Lock:    nobody else sees the queue yet.
-- Index:   state_newest grows by one entry.
CREATE OR REPLACE FUNCTION slipring.state_begin(p_queue slipring.queue, p_now_ms bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_state slipring.state;
BEGIN
    v_state.queue_id := p_queue.queue_id;
    v_state.seq := 1;
    v_state.fence := 0;
    v_state.lanes := '{}';
    v_state.open := '{}';
    v_state.counted := '{}';
    v_state.counted_bytes := '{}';
    v_state := slipring.state_add_lane(v_state, p_queue.lanes[1]);
    v_state.uncounted := '{[0,)}';
    v_state.acks := '{[0,)}';
    v_state.leased := 0;
    v_state.leased_bytes := 0;
    v_state.passed_over := 0;
    v_state.generation_low := 0;
    v_state.generation_since_ms := p_now_ms;
    v_state.journal := pg_sequence_last_value('slipring.journal');
    PERFORM slipring.state_write(p_queue, v_state);
END $$;
