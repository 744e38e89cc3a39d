-- Purpose: locks that only the owner can take.
-- Inputs:  none. What an older server holds meanwhile does not stop others: its queues are to be left
--          alone during the migration, as during each.
-- Lock:    ACCESS EXCLUSIVE on queue.
-- Index:   none.
--
-- Each lock is a view that nobody reads: LOCK TABLE needs rights on it that no role of users has,
-- while an advisory lock is free to whoever may connect. A view has no file, neither VACUUM nor
-- ANALYZE locks it, and what pg_dump takes does not stop those who lock it so.

CREATE VIEW slipring.lock_administration AS SELECT 'administration' AS lock;
CREATE VIEW slipring.lock_rotation AS SELECT 'rotation' AS lock;

-- The view of a deleted queue goes with its sequences.
ALTER TABLE slipring.place ADD COLUMN lock_view text;

-- The locks of leases are as many as there are hand-outs, and stay advisory: their numbers begin
-- with this secret.
ALTER TABLE slipring.queue ADD COLUMN lock_key bigint;
UPDATE slipring.queue SET lock_key = hashtextextended(gen_random_uuid()::text, 0);
ALTER TABLE slipring.queue ALTER COLUMN lock_key SET NOT NULL;

DO $$
DECLARE
    v_queue int;
BEGIN
    FOR v_queue IN SELECT q.queue_id FROM slipring.queue q LOOP
        EXECUTE format('CREATE VIEW slipring.lock_%1$s AS SELECT %1$s AS queue_id', v_queue);
    END LOOP;
EXCEPTION WHEN out_of_memory THEN
    RAISE EXCEPTION USING ERRCODE = '53200', MESSAGE = format('the migration takes a lock for each '
        'of %s queues, and the server has no room for them: raise max_locks_per_transaction, which '
        'is %s, by %s, restart PostgreSQL, and migrate again', (SELECT count(*) FROM slipring.queue),
        current_setting('max_locks_per_transaction'), 1 + (SELECT count(*) FROM slipring.queue)
            / current_setting('max_connections')::int);
END $$;
