-- Purpose: store_settle where every entry is an ack of a message in its first hands: all of them
--          at once, by ranges.
-- Inputs:  p_queue; runs of ids without a gap between them, from p_lows to below p_highs, each
--          with its fence; no id twice.
-- Lock:    the queue's lock.
-- Index:   queue_pkey, state_newest; see lease_ack_runs.
-- Answers: whether it was done, and what commit_defer answers; where anything else is among them,
--          nothing is done, and store_settle has to look entry by entry.
CREATE OR REPLACE FUNCTION slipring.store_ack(
    p_queue int, p_lows bigint[], p_highs bigint[], p_fences bigint[],
    OUT done boolean, OUT flush text)
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
SET search_path = pg_catalog, slipring, pg_temp AS $$
DECLARE
    v_queue slipring.queue := slipring.queue_lock(p_queue, false);
    v_state slipring.state;
    v_acked record;
BEGIN
    done := false;
    IF v_queue.queue_id IS NULL THEN
        RETURN;
    END IF;
    v_state := slipring.state_read(v_queue);
    IF slipring.acks_wait(v_queue, v_state) THEN
        RETURN;
    END IF;
    v_state.seq := v_state.seq + 1;
    v_acked := slipring.lease_ack_runs(v_queue, v_state, p_lows, p_highs, p_fences);
    done := v_acked.done;
    IF done THEN
        flush := slipring.commit_defer(v_queue.relaxed);
        PERFORM slipring.state_write(v_queue, v_acked.p_state);
    END IF;
END $$;
