-- Purpose: grants or revokes a right, and brings the rows of all rights up to date.
-- Inputs:  p_kind, p_role, p_queue or null, see grant; p_give.
-- Lock:    the lock of administration, the catalogue's.
-- Index:   queue_name, grantee_pkey; see grantees_now.
CREATE OR REPLACE FUNCTION slipring.right_change(
    p_kind text, p_role text, p_queue text, p_give boolean)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_queue int := 0;
    v_role oid := (SELECT r.oid FROM pg_roles r WHERE r.rolname = p_role);
BEGIN
    PERFORM slipring.isolation_check();
    IF p_kind IS NULL OR p_kind <> ALL (ARRAY['producer', 'consumer', 'admin']) THEN
        PERFORM slipring.fail('SR007', format('%s is no kind of right; take producer, consumer or '
            'admin', slipring.name_shown(p_kind)), '{}');
    ELSIF v_role IS NULL THEN
        PERFORM slipring.fail('SR007', format('there is no role %s', slipring.name_shown(p_role)), '{}');
    ELSIF p_queue IS NOT NULL THEN
        v_queue := (slipring.queue_named(p_queue, 'admin')).queue_id;
    END IF;
    IF (SELECT s.home_at <> s.written_at FROM slipring.store s) THEN
        -- The rows may have the OIDs of another cluster.
        PERFORM slipring.import_needed('{}');
    END IF;
    PERFORM slipring.administration_lock();
    PERFORM slipring.grantees_now(false);
    IF p_give THEN
        INSERT INTO slipring.grantee (role, kind, queue_id, role_id)
        VALUES (p_role, p_kind, v_queue, v_role) ON CONFLICT DO NOTHING;
    ELSE
        DELETE FROM slipring.grantee g
        WHERE g.role_id = v_role AND g.kind = p_kind AND g.queue_id = v_queue;
    END IF;
    IF v_queue > 0 AND has_type_privilege('public', 'slipring.right_admin', 'USAGE') THEN
        -- From now on whoever may call a function needs a right in the queue as well. It stays so:
        -- a role that had rights in a deleted queue may still call.
        REVOKE USAGE ON DOMAIN slipring.right_producer, slipring.right_consumer,
            slipring.right_admin FROM PUBLIC;
        PERFORM slipring.rights_apply_all();
    END IF;
    PERFORM slipring.rights_apply(p_role);
END $$;
