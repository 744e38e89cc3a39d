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
    IF (SELECT bool_and(NOT EXISTS (SELECT FROM slipring.grantee h
            WHERE h.queue_id = g.queue_id AND h.kind = g.kind AND h.role_id = r.oid))
        FROM slipring.grantee g JOIN pg_roles r ON r.rolname = g.role WHERE g.role_id = 0) THEN
        -- Of roles that were made above. The table is written anew, so that no row is updated or deleted.
        ALTER TABLE slipring.grantee ALTER COLUMN role_id TYPE oid
            USING CASE role_id WHEN 0 THEN coalesce(to_regrole(quote_ident(role))::oid, 0)
                ELSE role_id END;
    END IF;
    PERFORM slipring.grantees_now(false);
    PERFORM slipring.rights_apply_all();
END $$;
