-- Purpose: grants or revokes a right.
-- Inputs:  p_kind, p_role, p_queue or null, see grant; p_give.
-- Lock:    the lock of administration, the catalogue's.
-- Index:   queue_name, grantee_pkey.
CREATE OR REPLACE FUNCTION slipring.right_change(
    p_kind text, p_role text, p_queue text, p_give boolean)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_queue int := 0;
BEGIN
    PERFORM slipring.isolation_check();
    IF p_kind IS NULL OR p_kind <> ALL (ARRAY['producer', 'consumer', 'admin']) THEN
        PERFORM slipring.fail('SR007', format('%s is no kind of right; take producer, consumer or '
            'admin', coalesce(p_kind, 'null')), '{}');
    ELSIF NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = p_role) THEN
        PERFORM slipring.fail('SR007', format('there is no role %s', coalesce(p_role, 'null')), '{}');
    ELSIF p_queue IS NOT NULL THEN
        v_queue := (slipring.queue_named(p_queue, 'admin')).queue_id;
    END IF;
    PERFORM slipring.administration_lock();
    IF p_give THEN
        INSERT INTO slipring.grantee (role, kind, queue_id) VALUES (p_role, p_kind, v_queue)
        ON CONFLICT DO NOTHING;
    ELSE
        DELETE FROM slipring.grantee g
        WHERE g.role = p_role AND g.kind = p_kind AND g.queue_id = v_queue;
    END IF;
    IF v_queue > 0 AND has_type_privilege('public', 'slipring.right_admin', 'USAGE') THEN
        -- From now on whoever may call a function needs a right in the queue as well. It stays so:
        -- a role that had rights in a deleted queue may still call.
        REVOKE USAGE ON DOMAIN slipring.right_producer, slipring.right_consumer,
            slipring.right_admin FROM PUBLIC;
        PERFORM slipring.rights_apply(r.rolname) FROM pg_roles r
        WHERE r.rolname IN (SELECT g.role FROM slipring.grantee g);
    END IF;
    PERFORM slipring.rights_apply(p_role);
END $$;
