-- Purpose: counters of checkpoints, of version 17 and newer.
-- Inputs: none.
-- Lock: none.
-- Index: none.
SELECT c.name, c.value::float8
FROM pg_stat_checkpointer AS p,
     LATERAL (VALUES
         ('checkpoints timed', p.num_timed::float8),
         ('checkpoints requested', p.num_requested),
         ('checkpoint write ms', p.write_time),
         ('checkpoint sync ms', p.sync_time),
         ('buffers by checkpoints', p.buffers_written)
     ) AS c (name, value)
