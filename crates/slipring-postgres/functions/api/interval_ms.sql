-- Purpose: an interval in milliseconds, rounded up so that nothing ends early; null stays null.
-- Inputs:  p_interval; for the error when it is negative or longer than 2^32 seconds: p_name of the
--          argument, and p_queue, the queue's name, or p_receipts, the first of which tells it.
-- Lock:    none.
-- Index:   none; queue_pkey for the error.
CREATE OR REPLACE FUNCTION slipring.interval_ms(
    p_interval interval, p_name text, p_queue text DEFAULT NULL, p_receipts text[] DEFAULT NULL)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_seconds numeric := extract(epoch FROM p_interval);
    v_facts jsonb;
BEGIN
    IF v_seconds < 0 OR v_seconds > {{DURATION_SECONDS_MAX}} THEN
        v_seconds := trim_scale(v_seconds);
        v_facts := jsonb_strip_nulls(jsonb_build_object('asked', v_seconds, 'queue',
            coalesce(left(p_queue, {{QUEUE_NAME_MAX}}), (SELECT q.name FROM slipring.receipt_open(
                ARRAY(SELECT r FROM unnest(p_receipts) r LIMIT 1)) o
                JOIN slipring.queue q ON q.queue_id = o.queue))));
        IF v_seconds < 0 THEN
            PERFORM slipring.fail('SR007', format(
                '%s is %s s; give 0 to {{DURATION_SECONDS_MAX}} s', p_name,
                v_seconds), v_facts);
        END IF;
        PERFORM slipring.fail('SR006', format('duration_seconds_max is '
            '{{DURATION_SECONDS_MAX}} s, but %s is '
            '%s s', p_name, v_seconds), v_facts || '{"limit": "duration_seconds_max", '
            '"limit_value": {{DURATION_SECONDS_MAX}}}');
    END IF;
    RETURN ceil(v_seconds * 1000)::bigint;
END $$;
