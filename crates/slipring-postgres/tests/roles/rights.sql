-- Purpose: for everything in the schema, and for the schema, each of the roles of users, and
--          everybody: whether it may do anything with it.
-- Inputs:  none.
-- Lock:    none.
-- Index:   none.
WITH r AS (
    SELECT unnest(ARRAY['slipring_producer', 'slipring_consumer', 'slipring_admin', 'public'])
        AS role)
SELECT format('schema %s %s', n.nspname, m.word) AS thing, r.role,
    has_schema_privilege(r.role, n.oid, m.word) AS may
FROM pg_namespace n, r, unnest(ARRAY['USAGE', 'CREATE']) AS m(word) WHERE n.nspname = 'slipring'
UNION ALL
SELECT format('function %s(%s)', p.proname, oidvectortypes(p.proargtypes)), r.role,
    has_function_privilege(r.role, p.oid, 'EXECUTE')
FROM pg_proc p, r WHERE p.pronamespace = 'slipring'::regnamespace
UNION ALL
SELECT format('sequence %s', c.relname), r.role,
    has_sequence_privilege(r.role, c.oid, 'USAGE, SELECT, UPDATE')
FROM pg_class c, r WHERE c.relnamespace = 'slipring'::regnamespace AND c.relkind = 'S'
UNION ALL
SELECT format('table %s', c.relname), r.role,
    has_table_privilege(r.role, c.oid,
        'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
    OR has_any_column_privilege(r.role, c.oid, 'SELECT, INSERT, UPDATE, REFERENCES')
FROM pg_class c, r
WHERE c.relnamespace = 'slipring'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
UNION ALL
SELECT format('type %s', t.typname), r.role, has_type_privilege(r.role, t.oid, 'USAGE')
FROM pg_type t, r WHERE t.typnamespace = 'slipring'::regnamespace AND t.typtype = 'd'
ORDER BY thing, role
