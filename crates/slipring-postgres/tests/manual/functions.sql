-- Purpose: the functions that users may call: arguments, answers, and who may call them.
-- Inputs:  none.
-- Lock:    none.
-- Index:   none.
SELECT p.proname::text AS name,
    coalesce(array_agg(u.name ORDER BY u.n) FILTER (WHERE u.mode = 'i'), '{}') AS arguments,
    coalesce(array_agg(u.type ORDER BY u.n) FILTER (WHERE u.mode = 'i'), '{}') AS types,
    coalesce(array_agg(coalesce(split_part(pg_get_function_arg_default(p.oid, u.n::int), '::', 1),
        '') ORDER BY u.n) FILTER (WHERE u.mode = 'i'), '{}') AS defaults,
    coalesce(array_agg(u.name ORDER BY u.n) FILTER (WHERE u.mode <> 'i'), '{}') AS columns,
    coalesce(array_agg(u.type ORDER BY u.n) FILTER (WHERE u.mode <> 'i'), '{}') AS column_types,
    CASE WHEN p.proretset THEN 'rows'
        ELSE replace(format_type(p.prorettype, NULL), 'timestamp with time zone', 'timestamptz')
    END AS answer,
    ARRAY(SELECT r FROM unnest(ARRAY['slipring_producer', 'slipring_consumer', 'slipring_admin'])
        WITH ORDINALITY AS roles(r, n) WHERE has_function_privilege(r, p.oid, 'EXECUTE')
        ORDER BY n) AS roles
FROM pg_proc p
LEFT JOIN LATERAL (
    SELECT a.n, coalesce(p.proargnames[a.n], '') AS name, coalesce(p.proargmodes[a.n], 'i') AS mode,
        replace(replace(format_type(a.type, NULL), 'timestamp with time zone', 'timestamptz'),
            'integer', 'int') AS type
    FROM unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) WITH ORDINALITY AS a(type, n)
    ) u ON true
WHERE p.pronamespace = 'slipring'::regnamespace
    AND (has_function_privilege('slipring_producer', p.oid, 'EXECUTE')
        OR has_function_privilege('slipring_consumer', p.oid, 'EXECUTE')
        OR has_function_privilege('slipring_admin', p.oid, 'EXECUTE'))
GROUP BY p.oid ORDER BY p.proname, p.oid::regprocedure::text
