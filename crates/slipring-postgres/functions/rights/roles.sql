-- Purpose: the roles of users of the SQL interface, where this role may create them, and the rights of
--          all roles that were granted some, see right_functions.
-- Inputs:  none; runs after all functions.
-- Lock:    the catalogue's.
-- Index:   none.
REVOKE ALL ON ALL ROUTINES IN SCHEMA slipring FROM PUBLIC;

DO $$
DECLARE
    v_role text;
BEGIN
    IF (SELECT s.home_at <> s.written_at FROM slipring.store s) THEN
        -- Restored from a dump: the rows may have the OIDs of another cluster. The import does it.
        RETURN;
    END IF;
    FOR v_role IN SELECT g.role FROM slipring.grantee g
            WHERE g.queue_id = 0 AND g.role = 'slipring_' || g.kind
            AND NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = g.role OR r.oid = g.role_id)
    LOOP
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN', v_role);
        EXCEPTION
            WHEN insufficient_privilege THEN
                RAISE NOTICE 'role % is not there and may not be created; create it and run '
                    'the migration again, or call slipring.grant for roles of yours', v_role;
            WHEN duplicate_object OR unique_violation THEN
                -- Another database of the cluster has created it just now.
                NULL;
        END;
    END LOOP;
    PERFORM slipring.grantees_now(false);
    PERFORM slipring.rights_apply(r.rolname) FROM pg_roles r
    WHERE r.oid IN (SELECT g.role_id FROM slipring.grantee g);
END $$;
