-- Purpose: gives relations that were just made to the owner of the store, where a member of that role or a
--          superuser has made them: SQL users act with the owner's rights.
-- Inputs:  p_relations, their names.
-- Lock:    that of the caller, who has made them.
-- Index:   none; a look into the catalogue.
CREATE OR REPLACE FUNCTION slipring.to_owner(p_relations text[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_owner regrole := (SELECT c.relowner FROM pg_class c WHERE c.oid = 'slipring.message'::regclass);
    v_relation text;
BEGIN
    IF v_owner = quote_ident(current_user)::regrole OR NOT pg_has_role(v_owner,
            CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END) THEN
        RETURN;
    END IF;
    FOREACH v_relation IN ARRAY p_relations LOOP
        EXECUTE format('ALTER TABLE %s OWNER TO %s', v_relation, v_owner);
    END LOOP;
END $$;
