-- Purpose: the entry of what this transaction writes: the first message number it could give.
-- Inputs:  p_xid_base of the store.
-- Lock:    none; the transaction gets its number.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.entry_now(p_xid_base bigint)
RETURNS bigint LANGUAGE sql AS $$
    SELECT (pg_current_xact_id()::text::bigint + p_xid_base) << {{XID_SHIFT}}
$$;
