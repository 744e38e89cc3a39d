-- Purpose: rights_apply for all roles that were granted some.
-- Inputs:  none.
-- Lock:    the catalogue's.
-- Index:   all of grantee.
CREATE OR REPLACE FUNCTION slipring.rights_apply_all()
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM slipring.rights_apply(r.rolname) FROM pg_roles r
    WHERE r.oid IN (SELECT g.role_id FROM slipring.grantee g);
END $$;
