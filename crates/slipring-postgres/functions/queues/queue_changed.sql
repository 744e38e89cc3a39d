-- Purpose: tells those who keep up with the list of queues that it is about to change, or a setting.
-- Inputs:  none; a trigger of queue.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.queue_changed()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- The transaction has its number by now: those who see the sequence move wait for its end.
    PERFORM nextval('slipring.queue_changes');
    RETURN NULL;
END $$;
