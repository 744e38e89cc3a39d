-- Purpose: sees to it that messages to be loaded have lanes of the log.
-- Inputs:  p_queue; p_priorities.
-- Lock:    as lanes_learn.
-- Index:   as lanes_learn.
CREATE OR REPLACE FUNCTION slipring.load_lanes(p_queue slipring.queue, p_priorities bigint[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_lanes bigint[] := slipring.lanes_learn(p_queue, p_priorities);
BEGIN
    IF NOT p_priorities <@ v_lanes THEN
        PERFORM slipring.fail_limit(p_queue.name, 'load_priorities_max', {{LANES_MAX}},
            {{LANES_MAX}} + 1, (
            SELECT min(u.n) - 1 FROM unnest(p_priorities) WITH ORDINALITY AS u(p, n)
            WHERE u.p <> ALL (v_lanes))::int);
    END IF;
END $$;
