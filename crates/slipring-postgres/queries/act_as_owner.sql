-- Purpose: what a migration makes belongs to the owner of the store. Where the role that migrates is a superuser or a member
--   of the owner, relations, routines and types that other roles own are given to the owner, and the rest of the transaction
--   runs as the owner. Else nothing is changed
-- Inputs: none
-- Lock: that of the relations that are given to the owner
-- Index: names of schemas and relations
DO $$
DECLARE
    v_owner regrole := (SELECT coalesce(c.relowner, n.nspowner)
        FROM pg_namespace n LEFT JOIN pg_class c ON c.oid = to_regclass('slipring.message')
        WHERE n.nspname = 'slipring');
    v_other text;
BEGIN
    PERFORM set_config('slipring.migrates', current_user, true);
    IF v_owner = quote_ident(current_user)::regrole OR NOT pg_has_role(session_user, v_owner,
            CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END) THEN
        RETURN;
    END IF;
    FOR v_other IN
        SELECT format('TABLE %s', c.oid::regclass) FROM pg_class c
        WHERE c.relnamespace::regnamespace::text LIKE 'slipring%' AND c.relowner <> v_owner
            -- A sequence of a column goes with its table.
            AND (c.relkind IN ('r', 'p', 'v') OR c.relkind = 'S' AND NOT EXISTS (
                SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
                    AND d.deptype IN ('a', 'i') AND d.refclassid = 'pg_class'::regclass))
        UNION ALL
        SELECT format('ROUTINE %s', p.oid::regprocedure) FROM pg_proc p
        WHERE p.pronamespace = 'slipring'::regnamespace AND p.proowner <> v_owner
        UNION ALL
        SELECT format('TYPE %s', t.oid::regtype) FROM pg_type t LEFT JOIN pg_class c ON c.oid = t.typrelid
        WHERE t.typnamespace = 'slipring'::regnamespace AND t.typowner <> v_owner
            AND (t.typtype IN ('d', 'e') OR c.relkind = 'c')
    LOOP
        BEGIN
            EXECUTE format('ALTER %s OWNER TO %s', v_other, v_owner);
        EXCEPTION WHEN insufficient_privilege THEN
            -- That of a third role, which a migration by that role may have to change.
            NULL;
        END;
    END LOOP;
    PERFORM set_config('role', v_owner::text, true);
END $$
