-- Purpose: lets rows of a published table be deleted that has no replica identity: all of a row is one then.
-- Inputs:  p_queue; p_table, its name.
-- Lock:    the caller holds the queue's lock. ACCESS EXCLUSIVE on the table to the end of the transaction:
--          everybody who sends to a queue of it stands behind who waits for that, so it is waited for
--          LOCK_WAIT_MS at most, by a user as well.
-- Index:   none.
-- Answers: false where the table is in use by an open transaction, which the log of the server says.
CREATE OR REPLACE FUNCTION slipring.aside_identity(p_queue slipring.queue, p_table text)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_timeout text := current_setting('lock_timeout');
BEGIN
    PERFORM set_config('lock_timeout', '{{LOCK_WAIT_MS}}', true);
    EXECUTE format('ALTER TABLE %s REPLICA IDENTITY FULL', p_table);
    PERFORM set_config('lock_timeout', v_timeout, true);
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RAISE WARNING 'slipring: queue %: rows are to be set aside of %, which is published and has no '
        'replica identity, and an open transaction uses it: try again when that has ended',
        p_queue.name, p_table;
    RETURN false;
END $$;
