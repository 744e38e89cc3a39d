-- Purpose: counters of the WAL of the whole server.
-- Inputs: none.
-- Lock: none.
-- Index: none.
SELECT c.name, c.value::float8
FROM pg_stat_wal AS w,
     LATERAL (VALUES
         ('records', w.wal_records::float8),
         ('full pages', w.wal_fpi),
         ('bytes', w.wal_bytes::float8),
         ('buffers full', w.wal_buffers_full)
     ) AS c (name, value)
