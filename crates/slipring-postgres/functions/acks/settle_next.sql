-- Purpose: what a settlement, or a lapse, does to a message (S3, S6): the rules of the core's
--          lifecycle.
-- Inputs:  p_kind: ack, nack, hand_back, park, dead_letter or lapse; p_attempts, this delivery
--          included; p_delay_ms of a nack or null; p_jitter from 0 to 1.
-- Lock:    none.
-- Index:   none.
-- Answers: done, ready, delayed, parked or dead_letter, and how long a delay is.
CREATE OR REPLACE FUNCTION slipring.settle_next(
    p_queue slipring.queue, p_kind text, p_attempts bigint, p_delay_ms bigint,
    p_jitter float8, OUT next text, OUT delay_ms bigint)
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    delay_ms := 0;
    next := CASE p_kind WHEN 'ack' THEN 'done' WHEN 'hand_back' THEN 'ready'
        WHEN 'park' THEN 'parked' WHEN 'dead_letter' THEN 'dead_letter' END;
    IF next IS NOT NULL THEN
        RETURN;
    END IF;
    IF p_attempts >= p_queue.max_attempts THEN
        next := 'dead_letter';
        RETURN;
    END IF;
    IF p_kind = 'nack' THEN
        delay_ms := coalesce(p_delay_ms, slipring.backoff_ms(p_queue, p_attempts, p_jitter));
    END IF;
    next := CASE WHEN delay_ms > 0 THEN 'delayed' ELSE 'ready' END;
END $$;
