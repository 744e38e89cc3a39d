-- Purpose: offers messages to the next receives by SQL while another transaction has the queue's lock. As long as
--          it has, no commit can write hand-outs to the state, and a receive without an offer reads all of them.
-- Inputs:  p_queue; p_n, how many messages a receive of those for which it is has been handed; p_now_ms.
-- Lock:    see offer_turn and generations_enter; to the end of the commit.
-- Index:   queue_pkey, state_newest, offer_newest, a few steps in each slot; see state_read, offer_make.
CREATE OR REPLACE FUNCTION slipring.offer_beside(p_queue int, p_n bigint, p_now_ms bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_queue slipring.queue;
    v_short boolean;
    v_done int8multirange;
    v_state slipring.state;
BEGIN
    PERFORM slipring.generations_enter();
    -- Without taken none is given by an offer, see offer_open; and see offer_make.
    SELECT q.* INTO v_queue FROM queue q CROSS JOIN LATERAL (
        SELECT s.taken FROM state s WHERE s.queue_id = q.queue_id ORDER BY s.seq DESC LIMIT 1) s
    WHERE q.queue_id = p_queue AND NOT q.fifo AND s.taken IS NOT NULL
        AND cardinality(q.lanes) <= 1 AND (p_n = 1 OR p_n >= {{OFFER_PART_MIN}});
    IF NOT FOUND THEN
        RETURN;
    END IF;
    v_short := CASE WHEN p_n > 1 THEN slipring.offer_over(p_queue, p_now_ms)
        ELSE slipring.offer_short(p_queue, p_now_ms) END;
    -- Before the look at what was handed out, which may be much.
    IF v_short AND slipring.offer_turn(v_queue, p_n, p_now_ms) THEN
        v_done := slipring.taken_cut(v_queue);
        v_state := slipring.state_read(v_queue);
        v_state.open[1] := v_state.open[1] * v_done;
        PERFORM slipring.offer_make(v_queue, v_state, p_now_ms, p_n);
    END IF;
END $$;
