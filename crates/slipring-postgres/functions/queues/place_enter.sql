-- Purpose: holds back the rotation of the message tables of a queue that shares them until this transaction
--          ends: the oldest table is not emptied, and no generation after the next one begins (decision 0041).
-- Inputs:  p_queue, which shares tables or has a reserved set.
-- Lock:    ACCESS SHARE on the oldest table of each of its sets, for which a rotation that empties it is
--          waited for. The sequence is looked at once more with the lock.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.place_enter(p_queue slipring.queue)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_place int := p_queue.place;
    v_oldest regclass := p_queue.generation_low;
    v_low bigint;
BEGIN
    LOOP
        v_low := pg_sequence_last_value(v_oldest);
        EXECUTE 'LOCK TABLE slipring.message_' || v_place || '_' || v_low % 3
            || ' IN ACCESS SHARE MODE';
        CONTINUE WHEN v_low <> pg_sequence_last_value(v_oldest);
        EXIT WHEN p_queue.place_also IS NULL OR v_place = p_queue.place_also;
        v_place := p_queue.place_also;
        v_oldest := ('slipring.place_low_' || v_place)::regclass;
    END LOOP;
END $$;
