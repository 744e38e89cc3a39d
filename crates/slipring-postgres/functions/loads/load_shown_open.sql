-- Purpose: whether a transaction that has shown numbers for a load may be open still: one whose own number is
--          among those that are shown.
-- Inputs:  p_first, p_past, the numbers.
-- Lock:    the caller has the view load_reserving_lock, so that nobody else shows any meanwhile.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.load_shown_open(p_first bigint, p_past bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_seen pg_snapshot := pg_current_snapshot();
BEGIN
    IF EXISTS (SELECT FROM pg_snapshot_xip(v_seen) x
        WHERE x::text::bigint >= p_first AND x::text::bigint < p_past)
    THEN
        RETURN true;
    END IF;
    -- Of numbers from xmax on a snapshot does not tell which are in progress.
    FOR v_xid IN greatest(p_first, pg_snapshot_xmax(v_seen)::text::bigint)..p_past - 1 LOOP
        IF pg_xact_status(v_xid::text::xid8) = 'in progress' AND v_xid <> pg_current_xact_id()::text::bigint THEN
            RETURN true;
        END IF;
    END LOOP;
    RETURN false;
EXCEPTION WHEN invalid_parameter_value THEN
    -- A number that no transaction has yet.
    RETURN false;
END $$;
