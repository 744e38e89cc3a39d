-- Purpose: how many messages of the log are in a range, and their bytes.
-- Inputs:  p_from, see live_tables; p_lane; p_low, the first number, and p_high, above the last.
-- Lock:    none; the caller's snapshot.
-- Index:   the partitions' order indexes, one range. Packs are opened only where the range begins
--          or ends within them.
-- Answers: urgent counts those with a priority of their own below 1024.
CREATE OR REPLACE FUNCTION slipring.log_count(
    p_from text, p_lane bigint, p_low bigint, p_high bigint, OUT n bigint, OUT urgent bigint,
    OUT bytes bigint)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    EXECUTE format('SELECT coalesce(sum(till - since), 0),
            count(*) FILTER (WHERE priority < {{PRIORITY_DEFAULT}}),
            coalesce(sum(CASE WHEN till - since = size THEN bytes
                ELSE slipring.pack_end(body, till) - slipring.pack_end(body, since) END), 0)
        FROM (SELECT priority, bytes, body, coalesce(n, 1) AS size,
                greatest($2 - id + coalesce(n, 1) - 1, 0)::int AS since,
                least($3 - 1 - id + coalesce(n, 1), coalesce(n, 1))::int AS till
              FROM %s at_rest WHERE lane = $1 AND id >= $2
                AND id < least($3, {{PACK_LOOK_MAX}}) + {{PACK_MESSAGES_MAX}}) m
        WHERE till > since', p_from)
    INTO n, urgent, bytes USING p_lane, p_low, p_high;
END $$;
