-- Purpose: for how long a message that failed is delayed where the nack does not say it (S6.5).
-- Inputs:  p_queue; p_attempts, this delivery included; p_jitter from 0 to 1.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.backoff_ms(
    p_queue slipring.queue, p_attempts bigint, p_jitter float8)
RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE p_queue.backoff_kind
        WHEN 'fixed' THEN p_queue.backoff_base_ms
        WHEN 'exponential' THEN ceil(least(
            p_queue.backoff_base_ms * 2::float8 ^ least(greatest(p_attempts - 1, 0), 31),
            p_queue.backoff_max_ms)
            * (0.5 + 0.5 * least(greatest(coalesce(p_jitter, 0), 0), 1)))::bigint
        ELSE 0 END
$$;
