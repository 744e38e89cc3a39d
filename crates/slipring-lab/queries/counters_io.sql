-- Purpose: counters of I/O by kind of process, object and context, of version 16 and newer.
-- Inputs: none.
-- Lock: none.
-- Index: none.
SELECT i.backend_type || ', ' || i.object || ', ' || i.context || ': ' || c.name, c.value::float8
FROM pg_stat_io AS i,
     LATERAL (VALUES
         ('reads', i.reads::float8),
         ('read ms', i.read_time),
         ('writes', i.writes),
         ('write ms', i.write_time),
         ('extends', i.extends),
         ('hits', i.hits),
         ('evictions', i.evictions),
         ('fsyncs', i.fsyncs),
         ('fsync ms', i.fsync_time)
     ) AS c (name, value)
WHERE c.value IS NOT NULL
