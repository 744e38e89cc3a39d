-- Purpose: which roles of users of the SQL interface are there and may not do their part, and which
--   are not there, of those that were not revoked, see functions/rights/roles.sql
-- Inputs: none
-- Lock: none
-- Index: names of roles
SELECT COALESCE(bool_or(NOT has_function_privilege(r.oid, n.does, 'EXECUTE')), false),
  COALESCE(pg_catalog.array_agg(n.name ORDER BY n.name) FILTER (WHERE r.oid IS NULL), '{}')::text[]
FROM (VALUES
  ('slipring_producer', 'producer', 'slipring.send(text, bytea, bigint, interval, text, text, jsonb)'),
  ('slipring_consumer', 'consumer', 'slipring.ack(text)'),
  ('slipring_admin', 'admin', 'slipring.stats(text)')) AS n (name, kind, does)
JOIN slipring.grantee AS g ON g.role = n.name AND g.kind = n.kind AND g.queue_id = 0
LEFT JOIN pg_roles AS r ON r.rolname = n.name
-- One that was renamed has its rights under its new name.
WHERE NOT EXISTS (SELECT FROM pg_roles AS o WHERE o.oid = g.role_id AND o.rolname <> n.name)
