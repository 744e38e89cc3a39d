-- Purpose: whether a message that was offered is ready still, for a transaction that has locked it:
--          whoever had the lock before may have handed it out.
-- Inputs:  p_queue; p_lane; p_id. The caller's transaction has its number: the rotation that ends
--          hand-outs without the queue's lock waits for all that have one.
-- Lock:    see offer_take.
-- Index:   state_newest; lease_single, a step in each slot; lease_several, the ranges of taken_spans.
-- Answers: the ready numbers of the lane; null where it is not ready, where in_flight_max is near, or
--          where hand-outs without the lock have ended (see taken_may).
CREATE OR REPLACE FUNCTION slipring.offer_open(p_queue slipring.queue, p_lane bigint, p_id bigint)
RETURNS int8multirange LANGUAGE plpgsql AS $$
DECLARE
    v_open int8multirange;
BEGIN
    SELECT s.open[1] INTO v_open FROM (
        SELECT s.open, s.lanes, s.taken, s.taken_journal, s.leased FROM state s
        WHERE s.queue_id = p_queue.queue_id ORDER BY s.seq DESC LIMIT 1) s
    WHERE p_id <@ s.open[1] AND s.lanes = ARRAY[p_lane] AND s.taken IS NOT NULL
        AND s.taken_journal + slipring.taken_generations()
            >= pg_sequence_last_value('slipring.journal')
        AND s.leased + {{IN_FLIGHT_NEAR}} <= p_queue.in_flight_max
        -- A hand-out of one message without the lock has no number above that of the message.
        AND NOT EXISTS (SELECT FROM lease l
            WHERE l.queue_id * 4::bigint = p_queue.queue_id * 4::bigint
                AND upper(l.open) = p_id + 1 AND l.seq + 0 = 0 AND l.n + 0 = 1
                AND l.fence <@ s.taken OFFSET 0)
        AND NOT EXISTS (SELECT FROM slipring.taken_spans(s.taken) r CROSS JOIN LATERAL (
                SELECT l.open FROM lease l
                WHERE l.queue_id * 8::bigint = p_queue.queue_id * 8::bigint
                    AND l.fence + 0 >= r.first AND l.fence + 0 < r.past
                    AND l.seq + 0 = 0 AND l.n + 1 > 2 AND l.fence <@ s.taken OFFSET 0) t
            WHERE p_id <@ t.open);
    RETURN v_open;
END $$;
