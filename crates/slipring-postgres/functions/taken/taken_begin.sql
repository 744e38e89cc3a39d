-- Purpose: a state that knows of no hand-out without the queue's lock, and expects them: see taken_ask.
-- Inputs:  p_state.
-- Lock:    none.
-- Index:   none.
-- Answers: the state, not written. taken_journal is so low that taken_may does not allow hand-outs to others.
CREATE OR REPLACE FUNCTION slipring.taken_begin(p_state slipring.state)
RETURNS slipring.state LANGUAGE plpgsql STABLE AS $$
BEGIN
    p_state.taken := '{[{{BIGINT_MIN}},0)}';
    p_state.taken_journal := pg_sequence_last_value('slipring.journal')
        - slipring.taken_generations() - 1;
    RETURN p_state;
END $$;
