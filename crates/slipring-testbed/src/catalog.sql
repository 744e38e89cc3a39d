-- Purpose: what stands in the schema, one line for each thing, as the catalogue tells it
-- Inputs: none
-- Lock: none
-- Index: none
SELECT line FROM (
    SELECT 1 AS part, c.relname::text AS place, 0 AS at,
        format('%s %s%s%s', CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, c.relname,
            CASE c.relkind WHEN 'p' THEN ' PARTITION BY ' || pg_get_partkeydef(c.oid) ELSE '' END,
            CASE WHEN c.relispartition
                THEN ' OF ' || i.inhparent::regclass || ' ' || pg_get_expr(c.relpartbound, c.oid)
                ELSE '' END
            || COALESCE(' WITH (' || array_to_string(c.reloptions, ', ') || ')', '')
            || CASE c.relpersistence WHEN 'u' THEN ' UNLOGGED' ELSE '' END) AS line
    FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
    WHERE c.relnamespace = 'slipring'::regnamespace AND c.relkind IN ('r', 'p', 'S')
  UNION ALL
    SELECT 1, c.relname::text, a.attnum,
        format('  %s %s%s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
            CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END,
            CASE a.attidentity WHEN '' THEN '' ELSE ' IDENTITY' END,
            COALESCE(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), ''))
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE c.relnamespace = 'slipring'::regnamespace AND c.relkind IN ('r', 'p')
        AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
    SELECT 1, c.relname::text, 10000 + row_number() OVER (ORDER BY k.conname),
        format('  CONSTRAINT %s %s', k.conname, pg_get_constraintdef(k.oid))
    FROM pg_class c JOIN pg_constraint k ON k.conrelid = c.oid
    -- PostgreSQL 18 has a constraint for each NOT NULL as well, which the columns say already.
    WHERE c.relnamespace = 'slipring'::regnamespace AND NOT c.relispartition AND k.contype <> 'n'
  UNION ALL
    SELECT 1, c.relname::text, 20000 + row_number() OVER (ORDER BY t.tgname),
        '  ' || replace(substr(pg_get_triggerdef(t.oid), 8), ' ON slipring.' || c.relname, '')
    FROM pg_class c JOIN pg_trigger t ON t.tgrelid = c.oid
    WHERE c.relnamespace = 'slipring'::regnamespace AND NOT t.tgisinternal AND t.tgconstraint = 0
  UNION ALL
    SELECT 2, tablename::text, row_number() OVER (ORDER BY indexname), indexdef
    FROM pg_indexes JOIN pg_class c ON c.relname = tablename
        AND c.relnamespace = 'slipring'::regnamespace
    WHERE schemaname = 'slipring' AND NOT c.relispartition
  UNION ALL
    SELECT 3, p.proname::text, row_number() OVER (ORDER BY pg_get_function_identity_arguments(p.oid)),
        format('FUNCTION %s(%s) RETURNS %s%s', p.proname, pg_get_function_arguments(p.oid),
            pg_get_function_result(p.oid),
            CASE WHEN p.prosecdef THEN ' SECURITY DEFINER' ELSE '' END)
    FROM pg_proc p WHERE p.pronamespace = 'slipring'::regnamespace
) AS lines
ORDER BY part, place COLLATE "C", at
