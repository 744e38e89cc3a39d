-- Purpose: offers messages to the next receives by SQL while another transaction has the queue's lock, which may
--          be for long: nobody notes hand-outs then, and who takes what is offered need not read them.
-- Inputs:  p_queue; p_n, how many messages a receive of those for which it is has been handed; p_now_ms.
-- Lock:    one of the queue for this alone, advisory, which is only tried, to the end of the commit: of two who
--          offer the same messages one's receives come in vain. Its key changes with the time, so that who sees it
--          and takes it stops this for OFFER_MS.
-- Index:   queue_pkey, offer_newest, a few steps in each slot; see state_read, offer_make.
CREATE OR REPLACE FUNCTION slipring.offer_beside(p_queue int, p_n bigint, p_now_ms bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_queue slipring.queue;
    v_short boolean;
BEGIN
    SELECT * INTO v_queue FROM queue q WHERE q.queue_id = p_queue;
    v_short := CASE WHEN p_n > 1 THEN slipring.offer_over(p_queue, p_now_ms)
        ELSE slipring.offer_short(p_queue, p_now_ms) END;
    IF v_queue.fifo OR NOT v_short OR NOT pg_try_advisory_xact_lock(
        hashint8extended(p_now_ms / {{OFFER_MS}}, v_queue.lock_key # 2))
    THEN
        RETURN;
    END IF;
    PERFORM slipring.offer_make(v_queue, slipring.state_read(v_queue), p_now_ms, p_n);
END $$;
