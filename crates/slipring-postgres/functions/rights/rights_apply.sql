-- Purpose: gives a role the rights of PostgreSQL that it needs for what it was granted, and takes
--          those that it does not need any more.
-- Inputs:  p_role, which is there; the owner keeps all he has.
-- Lock:    the catalogue's; the caller holds the lock of administration.
-- Index:   grantee_pkey.
CREATE OR REPLACE FUNCTION slipring.rights_apply(p_role text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_role oid := (SELECT r.oid FROM pg_roles r WHERE r.rolname = p_role);
    v_names text[] := ARRAY(SELECT DISTINCT f FROM slipring.grantee g
        CROSS JOIN LATERAL unnest(slipring.right_functions(g.kind, g.queue_id = 0)) f
        WHERE g.role_id = v_role);
    v_kinds text[] := ARRAY(SELECT DISTINCT g.kind FROM slipring.grantee g
        WHERE g.role_id = v_role AND g.queue_id = 0);
    v_thing record;
BEGIN
    IF v_role = (SELECT n.nspowner FROM pg_namespace n WHERE n.nspname = 'slipring') THEN
        RETURN;
    END IF;
    EXECUTE format(CASE WHEN v_names = '{}' THEN 'REVOKE USAGE ON SCHEMA slipring FROM %I'
        ELSE 'GRANT USAGE ON SCHEMA slipring TO %I' END, p_role);
    FOR v_thing IN
        SELECT t.thing, t.needs FROM (
            SELECT format('EXECUTE ON ROUTINE %s', p.oid::regprocedure) AS thing,
                p.proname::text = ANY (v_names) AS needs, p.proacl AS acl
            FROM pg_proc p WHERE p.pronamespace = 'slipring'::regnamespace
                AND p.proname::text = ANY (slipring.right_functions('admin', true))
            UNION ALL
            SELECT format('USAGE ON DOMAIN slipring.right_%s', k), v_kinds && ARRAY[k, 'admin'],
                c.typacl
            FROM unnest(ARRAY['producer', 'consumer', 'admin']) k
            JOIN pg_type c ON c.oid = ('slipring.right_' || k)::regtype) t
        WHERE t.needs <> EXISTS (SELECT FROM aclexplode(t.acl) a WHERE a.grantee = v_role)
    LOOP
        EXECUTE format(CASE WHEN v_thing.needs THEN 'GRANT %s TO %I' ELSE 'REVOKE %s FROM %I' END,
            v_thing.thing, p_role);
    END LOOP;
END $$;
