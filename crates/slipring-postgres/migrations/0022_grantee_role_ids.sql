-- Purpose: a right belongs to a role, whatever its name is, and not to a later role of that name.
-- Inputs:  none.
-- Lock:    ACCESS EXCLUSIVE on grantee, to the end of the migration.
-- Index:   grantee_pkey, anew.

-- The role's OID; 0 where a role that the functions make is not there yet. The name is for an import
-- after a restore, for in another cluster a role has another OID.
ALTER TABLE slipring.grantee ADD COLUMN role_id oid NOT NULL DEFAULT 0;
-- The table is written anew, so that no row is updated: those of the store never are.
ALTER TABLE slipring.grantee ALTER COLUMN role_id TYPE oid
    USING coalesce(to_regrole(quote_ident(role))::oid, 0);
DELETE FROM slipring.grantee
WHERE role_id = 0 AND NOT (queue_id = 0 AND role = 'slipring_' || kind);
ALTER TABLE slipring.grantee DROP CONSTRAINT grantee_pkey;
ALTER TABLE slipring.grantee ADD PRIMARY KEY (queue_id, kind, role_id);
