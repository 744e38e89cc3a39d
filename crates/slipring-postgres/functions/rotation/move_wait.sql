-- Purpose: waits for the transactions that may go by a queue's row as it was before the last step of its
--          move. One that has read it may not have a number yet, and get one at any time: so first for all
--          transactions of this database, then for those that had a number when these had ended, among which
--          are prepared ones.
-- Inputs:  p_move, at step 2 or 3; p_running, see move_running: looked up in this transaction, later than the
--          step before was committed.
-- Lock:    none.
-- Index:   place_move_pkey.
-- Answers: null when they have ended; else whether it noted for whom to wait.
CREATE OR REPLACE FUNCTION slipring.move_wait(p_move slipring.place_move, p_running text[])
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF p_move.waits IS NULL THEN
        UPDATE slipring.place_move m SET waits = p_running WHERE m.queue_id = p_move.queue_id;
        RETURN true;
    ELSIF p_move.mark IS NULL THEN
        IF p_move.waits && p_running THEN
            RETURN false;
        END IF;
        UPDATE slipring.place_move m SET mark = pg_current_xact_id()::text::bigint
        WHERE m.queue_id = p_move.queue_id;
        RETURN true;
    ELSIF pg_snapshot_xmin(pg_current_snapshot())::text::bigint < p_move.mark THEN
        RETURN false;
    END IF;
    RETURN NULL;
END $$;
