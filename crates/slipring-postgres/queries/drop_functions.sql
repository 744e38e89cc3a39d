-- Purpose: takes away what the last program's functions are made of, so that those of this one may
--   have other arguments and results, and none of them is left over. The functions for users stay,
--   to be replaced in place: others may have been granted them, or have views and functions that
--   call them
-- Inputs: none
-- Lock: the catalogue's
-- Index: none
DO $$
DECLARE
    v_routine regprocedure;
BEGIN
    FOR v_routine IN SELECT p.oid FROM pg_proc p
        WHERE p.pronamespace = 'slipring'::regnamespace
            -- Those that functions/rights/roles.sql grants.
            AND p.proname <> ALL (ARRAY['send', 'send_batch', 'receive', 'ack', 'nack', 'extend',
                'create_queue', 'configure', 'pause', 'resume', 'purge', 'redrive', 'peek', 'failures',
                'stats', 'queues', 'load_begin', 'load_reserve', 'load_append', 'load_publish',
                'load_abandon', 'ready', 'await', 'maintain', 'maintenance', 'maintain_step',
                'set_aside', 'findings', 'grant', 'revoke',
               -- Triggers call them.
               'taken_fold', 'queue_changed'])
            -- Of which columns are made.
            AND p.proname <> 'moment_now'
            AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass
                AND d.objid = p.oid AND d.deptype = 'e') LOOP
        EXECUTE pg_catalog.format('DROP ROUTINE %s', v_routine);
    END LOOP;
END $$
