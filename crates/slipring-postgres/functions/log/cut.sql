-- Purpose: which message numbers are settled at this moment: those of transactions that are
--          over. Rows with other numbers are left for a later cut, even where they are visible
--          already.
-- Inputs:  p_xid_base of the store.
-- Lock:    none. Must be a statement of its own in a READ COMMITTED transaction, before the
--          statements that read rows by it.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.cut(p_xid_base bigint)
RETURNS int8multirange LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_seen pg_snapshot := pg_current_snapshot();
    v_end bigint := pg_snapshot_xmax(v_seen)::text::bigint;
    v_own bigint := pg_current_xact_id_if_assigned()::text::bigint;
    v_done int8multirange := int8multirange(int8range(0, (v_end + p_xid_base) << {{XID_SHIFT}}));
BEGIN
    IF v_own IS NOT NULL THEN
        v_done := v_done - int8multirange(int8range((v_own + p_xid_base) << {{XID_SHIFT}},
            (v_own + 1 + p_xid_base) << {{XID_SHIFT}}));
    END IF;
    IF pg_snapshot_xmin(v_seen)::text::bigint = v_end THEN
        RETURN v_done;
    END IF;
    RETURN v_done - coalesce((
        SELECT range_agg(int8range((x::text::bigint + p_xid_base) << {{XID_SHIFT}},
            (x::text::bigint + 1 + p_xid_base) << {{XID_SHIFT}}))
        FROM pg_snapshot_xip(v_seen) x), '{}');
END $$;
