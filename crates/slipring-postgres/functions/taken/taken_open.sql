-- Purpose: lets receives by SQL hand out messages of a queue without its lock from now on, for as
--          long as they come: see journal_copy. Servers lock the rows of what they hand out, too,
--          as long as it is so.
-- Inputs:  p_queue, p_state; p_generations of the journal that it lasts where no receive comes.
-- Lock:    the caller holds the queue's lock.
-- Index:   state_newest grows by one entry.
CREATE OR REPLACE FUNCTION slipring.taken_open(
    p_queue slipring.queue, p_state slipring.state, p_generations bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_journal bigint := pg_sequence_last_value('slipring.journal');
BEGIN
    IF slipring.taken_may(p_state) THEN
        RETURN;
    END IF;
    p_state.taken := coalesce(p_state.taken, '{[{{BIGINT_MIN}},0)}');
    p_state.taken_journal := v_journal + p_generations - slipring.taken_generations();
    p_state.seq := p_state.seq + 1;
    PERFORM slipring.state_write(p_queue, p_state);
END $$;
