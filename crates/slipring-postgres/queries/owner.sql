-- Purpose: how a member of the store's owner, or a superuser, acts as the owner in a transaction, and how it
--   acts as itself again: what a migration makes belongs to the owner
-- Inputs: none
-- Lock: none
-- Index: names of schemas and relations
SELECT format('SET LOCAL ROLE %s', o.owner), format('SET LOCAL ROLE %I', current_user)
FROM (SELECT coalesce(c.relowner, n.nspowner)::regrole AS owner
  FROM pg_namespace AS n LEFT JOIN pg_class AS c ON c.oid = to_regclass('slipring.message')
  WHERE n.nspname = 'slipring') AS o
WHERE o.owner <> quote_ident(current_user)::regrole AND pg_has_role(session_user, o.owner, 'MEMBER')
