-- Purpose: a server reads a sequence to learn whether the list of queues may have changed, instead of the
--          whole list after every change of messages.
-- Inputs:  none.
-- Lock:    SHARE ROW EXCLUSIVE on queue, to the end of the migration.
-- Index:   none.

-- Moves before each change of the list of queues or of settings is committed.
CREATE SEQUENCE slipring.queue_changes MINVALUE 0 START 0;
-- The first change moves it, too.
SELECT setval('slipring.queue_changes', 0);

-- The function is replaced by that of its file.
CREATE FUNCTION slipring.queue_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RETURN NULL;
END $$;
CREATE TRIGGER queue_changed AFTER INSERT OR DELETE OR UPDATE OF modified_ms ON slipring.queue
    FOR EACH STATEMENT EXECUTE FUNCTION slipring.queue_changed();
