-- Purpose: open loads, and those that were published lately.
-- Inputs:  none.
-- Lock:    none.
-- Index:   load_pkey, load_part_pkey over the parts of open loads.
CREATE OR REPLACE FUNCTION slipring.store_loads()
RETURNS SETOF slipring.load LANGUAGE sql STABLE
SET search_path = pg_catalog, slipring, pg_temp AS $$
    SELECT l.load_id, l.queue_id, l.published, l.begun_ms,
        greatest(l.touched_ms, p.appended_ms), l.parts + p.parts, l.messages + p.messages,
        l.bytes + p.bytes
    FROM slipring.load l CROSS JOIN LATERAL (
        SELECT max(p.appended_ms) AS appended_ms, count(*) AS parts,
            coalesce(sum(p.messages), 0)::bigint AS messages,
            coalesce(sum(p.bytes), 0)::bigint AS bytes
        FROM slipring.load_part p WHERE p.load_id = l.load_id) p
    ORDER BY l.load_id
$$;
