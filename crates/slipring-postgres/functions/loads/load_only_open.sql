-- Purpose: whether no other transaction that takes numbers for a load is open.
-- Inputs:  none.
-- Lock:    the view load_reserving_lock in EXCLUSIVE mode, which is only tried, for a moment. Who takes numbers
--          has it in ROW SHARE mode to the end of the transaction, as the caller has. Only the owner may lock it.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.load_only_open()
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    LOCK TABLE slipring.load_reserving_lock IN EXCLUSIVE MODE NOWAIT;
    -- What a block has locked is given back where it fails.
    RAISE EXCEPTION USING ERRCODE = 'SR100';
EXCEPTION
    WHEN SQLSTATE 'SR100' THEN
        RETURN true;
    WHEN lock_not_available THEN
        RETURN false;
END $$;
