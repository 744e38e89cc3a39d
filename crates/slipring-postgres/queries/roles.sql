-- Purpose: which roles of users of the SQL interface are there and may not do their part, and which
--   are not there, see functions/roles.sql
-- Inputs: none
-- Lock: none
-- Index: names of roles
SELECT COALESCE(bool_or(NOT has_function_privilege(r.oid, n.does, 'EXECUTE')), false),
  COALESCE(pg_catalog.array_agg(n.name ORDER BY n.name) FILTER (WHERE r.oid IS NULL), '{}')::text[]
FROM (VALUES
  ('slipring_producer', 'slipring.send(text, bytea, bigint, interval, text, text, jsonb)'),
  ('slipring_consumer', 'slipring.ack(text)'),
  ('slipring_admin', 'slipring.stats(text)')) AS n (name, does)
LEFT JOIN pg_roles AS r ON r.rolname = n.name
