-- Purpose: one lease on all that a read of a lane has given.
-- Inputs:  p_state, which gets a new fence, and without the messages among the ready ones; its seq
--          is the one to write; p_read; p_deadline_ms; p_holder, the process, or null.
-- Lock:    the queue's lock.
-- Index:   lease's indexes grow by one entry.
-- Answers: the state; not written.
CREATE OR REPLACE FUNCTION slipring.claim_lease(
    p_queue slipring.queue, p_state slipring.state, p_read slipring.lane_read, p_now_ms bigint,
    p_deadline_ms bigint, p_holder bigint)
RETURNS slipring.state LANGUAGE plpgsql AS $$
BEGIN
    p_state.fence := greatest(p_state.fence, slipring.fence_least(p_now_ms)) + 1;
    p_state.open[p_read.at] := p_state.open[p_read.at] - p_read.region;
    p_state.leased := p_state.leased + p_read.total;
    p_state.leased_bytes := p_state.leased_bytes + p_read.bytes;
    IF NOT p_read.region <@ p_state.uncounted THEN
        p_state := slipring.state_uncount(p_state, p_read.at, p_read.ids, p_read.sizes,
            p_read.counts);
    END IF;
    p_state.lapse_ms := least(p_state.lapse_ms, p_deadline_ms);
    INSERT INTO slipring.lease VALUES (pg_sequence_last_value('slipring.journal') % 3,
        p_queue.queue_id, p_state.fence, 0, p_state.seq, p_state.lanes[p_read.at],
        p_deadline_ms, p_now_ms, p_holder, p_read.total, p_read.bytes, p_read.bytes_each,
        p_read.region * int8multirange(int8range(p_read.first_id, p_read.last_id + 1)));
    RETURN p_state;
END $$;
