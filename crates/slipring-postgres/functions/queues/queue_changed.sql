-- Purpose: tells servers that the list of queues or a setting is about to change.
-- Inputs:  none; a trigger of queue.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.queue_changed()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- The transaction has its number by now: a server that sees the sequence move waits for its end.
    PERFORM nextval('slipring.queue_changes');
    RETURN NULL;
END $$;
