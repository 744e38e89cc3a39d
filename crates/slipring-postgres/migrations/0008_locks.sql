-- Purpose: locks that only the owner can take.
-- Inputs:  none. What an older server holds meanwhile does not stop others: its queues are to be left
--          alone during the migration, as during each.
-- Lock:    ACCESS EXCLUSIVE on queue.
-- Index:   none.
--
-- Each lock is a view that nobody reads: LOCK TABLE needs rights on it that no role of users has,
-- while an advisory lock is free to whoever may connect. A view has no file, and neither VACUUM nor
-- ANALYZE nor pg_dump locks it.

CREATE VIEW slipring.lock_administration AS SELECT 'administration' AS lock;
CREATE VIEW slipring.lock_rotation AS SELECT 'rotation' AS lock;

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
END $$;
