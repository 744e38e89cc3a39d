-- Purpose: the roles of users of the SQL interface, where this role may create them, and what each
--          may do: a producer can send, a consumer can receive and settle, an admin all of it.
-- Inputs:  none; runs after all functions.
-- Lock:    the catalogue's.
-- Index:   none.
REVOKE ALL ON ALL ROUTINES IN SCHEMA slipring FROM PUBLIC;

DO $$
DECLARE
    v_role text;
    v_name text;
    v_function regprocedure;
BEGIN
    FOREACH v_role IN ARRAY ARRAY['slipring_producer', 'slipring_consumer', 'slipring_admin']
    LOOP
        BEGIN
            IF NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = v_role) THEN
                EXECUTE format('CREATE ROLE %I NOLOGIN', v_role);
            END IF;
        EXCEPTION
            WHEN insufficient_privilege THEN
                RAISE NOTICE 'role % is not there and may not be created; create it and run '
                    'the migration again, or grant EXECUTE yourself', v_role;
                CONTINUE;
            WHEN duplicate_object OR unique_violation THEN
                -- Another database of the cluster has created it just now.
                NULL;
        END;
        EXECUTE format('GRANT USAGE ON SCHEMA slipring TO %I', v_role);
        FOREACH v_name IN ARRAY CASE v_role
            WHEN 'slipring_producer' THEN ARRAY['send', 'send_batch', 'load_begin',
                'load_reserve', 'load_append', 'load_publish', 'load_abandon']
            WHEN 'slipring_consumer' THEN
                ARRAY['receive', 'ack', 'nack', 'extend', 'ready', 'await']
            ELSE ARRAY['send', 'send_batch', 'receive', 'ack', 'nack', 'extend', 'create_queue',
                'configure', 'pause', 'resume', 'purge', 'redrive', 'peek', 'stats', 'load_begin',
                'load_reserve', 'load_append', 'load_publish', 'load_abandon', 'ready', 'await',
                'maintain', 'maintenance', 'maintain_step'] END
        LOOP
            FOR v_function IN SELECT p.oid FROM pg_proc p
                WHERE p.pronamespace = 'slipring'::regnamespace AND p.proname = v_name LOOP
                EXECUTE format('GRANT EXECUTE ON ROUTINE %s TO %I', v_function, v_role);
            END LOOP;
        END LOOP;
    END LOOP;
END $$;
