-- Purpose: holds back the rotation of shared message tables until this transaction ends: the oldest
--          table is not emptied, and no generation after the next one begins (decision 0041).
-- Inputs:  p_queue, which shares tables.
-- Lock:    ACCESS SHARE on the oldest table, for which a rotation that empties it is waited for. The
--          sequence is looked at once more with the lock.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.place_enter(p_queue slipring.queue)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_low bigint;
BEGIN
    LOOP
        v_low := pg_sequence_last_value(p_queue.generation_low);
        EXECUTE 'LOCK TABLE slipring.message_' || p_queue.place || '_' || v_low % 3
            || ' IN ACCESS SHARE MODE';
        EXIT WHEN v_low = pg_sequence_last_value(p_queue.generation_low);
    END LOOP;
END $$;
