-- Purpose: which message numbers are settled at this moment: those of transactions that are
--          over. Rows with other numbers are left for a later cut, even where they are visible
--          already.
-- Inputs:  p_xid_base of the store.
-- Lock:    none. Must be a statement of its own in a READ COMMITTED transaction, before the
--          statements that read rows by it.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.cut(p_xid_base bigint)
RETURNS int8multirange LANGUAGE sql VOLATILE AS $$
    WITH s AS MATERIALIZED (SELECT pg_current_snapshot() AS s),
    running AS (
        SELECT pg_snapshot_xip(s)::text::bigint + p_xid_base AS x FROM s
        UNION ALL
        SELECT pg_current_xact_id_if_assigned()::text::bigint + p_xid_base
        WHERE pg_current_xact_id_if_assigned() IS NOT NULL
    )
    SELECT int8multirange(int8range(0,
            (pg_snapshot_xmax(s.s)::text::bigint + p_xid_base) << 18))
        - coalesce((SELECT range_agg(int8range(x << 18, (x + 1) << 18)) FROM running), '{}')
    FROM s
$$;
