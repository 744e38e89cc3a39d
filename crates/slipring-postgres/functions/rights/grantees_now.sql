-- Purpose: brings the rows of grantee up to date with the roles: names that have changed, and rows whose
--          role is gone, which are deleted. Of a role that the functions make the row stays, for one of
--          that name that is created anew.
-- Inputs:  p_restored: the rows come out of a dump, so that only their names count. A row counts for the
--          role that the dump gave rights in the schema as well: a name may be older than the dump.
-- Lock:    the caller holds the lock of administration, or migrates.
-- Index:   none; all of grantee.
CREATE OR REPLACE FUNCTION slipring.grantees_now(p_restored boolean)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_rows slipring.grantee[] := ARRAY(SELECT g FROM slipring.grantee g
        LEFT JOIN pg_roles r ON r.oid = g.role_id
        WHERE p_restored OR r.rolname IS DISTINCT FROM g.role);
BEGIN
    DELETE FROM slipring.grantee g USING unnest(v_rows) u
    WHERE g.queue_id = u.queue_id AND g.kind = u.kind AND g.role_id = u.role_id;
    INSERT INTO slipring.grantee (role, kind, queue_id, role_id)
    SELECT coalesce(o.rolname, g.role), g.kind, g.queue_id, coalesce(o.oid, n.oid, 0)
    FROM unnest(v_rows) g
    LEFT JOIN pg_roles o ON o.oid = g.role_id AND NOT p_restored
    LEFT JOIN pg_roles n ON n.rolname = g.role AND o.oid IS NULL
    WHERE o.oid IS NOT NULL OR g.queue_id = 0 AND g.role = 'slipring_' || g.kind
        OR p_restored AND EXISTS (SELECT FROM pg_namespace s WHERE s.nspname = 'slipring'
            AND (n.oid = s.nspowner OR n.oid IN (SELECT a.grantee FROM aclexplode(s.nspacl) a)))
    ON CONFLICT DO NOTHING;
END $$;
