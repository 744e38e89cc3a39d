-- Purpose: checks that what is given for each message of a batch has as many entries as the batch.
-- Inputs:  p_name of it; p_entries, how many it has, or null; p_bodies, how many there are;
--          p_queue, the queue's name, for the error.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.entries_check(
    p_name text, p_entries int, p_bodies int, p_queue text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF p_entries <> p_bodies THEN
        PERFORM slipring.fail('SR007', format('%s has %s entries for %s bodies; give one for each, '
            'null where a message has none', p_name, p_entries, p_bodies),
            jsonb_build_object('queue', p_queue));
    END IF;
END $$;
