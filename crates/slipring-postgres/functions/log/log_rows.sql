-- Purpose: what stands in FROM to read messages of a lane one by one, in their order, packs
--          opened.
-- Inputs:  p_from, see live_tables; SQL for the lane, the first number and the one above the last,
--          none of them null.
-- Lock:    as live_tables.
-- Index:   the partitions' order indexes, one range. A pack has the number of its last message and
--          at most 64 messages, so the row with any message of the range is in it or less than 64
--          above it.
CREATE OR REPLACE FUNCTION slipring.log_rows(
    p_from text, p_lane text, p_low text, p_high text)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT format('(SELECT packed.id - packed.size + k AS id, packed.lane, packed.sent_ms,
            CASE WHEN packed.n IS NULL THEN packed.bytes
                ELSE slipring.pack_end(packed.body, k) - slipring.pack_end(packed.body, k - 1)
                END AS bytes,
            packed.priority, packed.lease_ms, packed.group_name, packed.dedup_id,
            packed.headers, CASE WHEN packed.n IS NULL THEN packed.body
                ELSE slipring.pack_body(packed.body, packed.n, k) END AS body
        FROM (SELECT *, coalesce(n, 1) AS size FROM %1$s at_rest WHERE lane = %2$s
                AND id >= %3$s AND id < least(%4$s, {{PACK_LOOK_MAX}}) + {{PACK_MESSAGES_MAX}}
            ORDER BY id) packed
        CROSS JOIN LATERAL generate_series(
            greatest(%3$s - packed.id + packed.size, 1)::int,
            least(%4$s - 1 - packed.id + packed.size, packed.size)::int) k)',
        p_from, p_lane, p_low, p_high)
$$;
