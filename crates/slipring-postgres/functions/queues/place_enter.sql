-- Purpose: keeps the generation of the tables that a queue shares with others where it is: nobody
--          empties the oldest table that counts, nor writes to a generation after the next one, until
--          this transaction ends (decision 0041, as for the journal).
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
