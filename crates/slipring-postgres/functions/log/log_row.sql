-- Purpose: what stands in FROM to read one message of a lane, out of its pack where it is in one.
-- Inputs:  p_from, see live_tables; SQL for the lane and the number.
-- Lock:    as live_tables.
-- Index:   the partitions' order indexes, one step: the first row from the number on has the
--          message or there is none, see log_rows.
CREATE OR REPLACE FUNCTION slipring.log_row(p_from text, p_lane text, p_id text)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT format('(SELECT %3$s AS id, packed.lane, packed.sent_ms,
            CASE WHEN packed.n IS NULL THEN packed.bytes ELSE slipring.pack_end(packed.body, k)
                - slipring.pack_end(packed.body, k - 1) END AS bytes,
            packed.priority, packed.lease_ms, packed.group_name, packed.dedup_id,
            packed.headers, CASE WHEN packed.n IS NULL THEN packed.body
                ELSE slipring.pack_body(packed.body, packed.n, k) END AS body
        FROM (SELECT * FROM %1$s at_rest WHERE lane = %2$s AND id >= %3$s
            ORDER BY id LIMIT 1) packed
        CROSS JOIN LATERAL (SELECT greatest(%3$s - packed.id + coalesce(packed.n, 1), 0)::int
            AS k) k
        WHERE k > 0)', p_from, p_lane, p_id)
$$;
