-- Purpose: counters of checkpoints and of pages written, of versions before 17.
-- Inputs: none.
-- Lock: none.
-- Index: none.
SELECT c.name, c.value::float8
FROM pg_stat_bgwriter AS b,
     LATERAL (VALUES
         ('checkpoints timed', b.checkpoints_timed::float8),
         ('checkpoints requested', b.checkpoints_req),
         ('checkpoint write ms', b.checkpoint_write_time),
         ('checkpoint sync ms', b.checkpoint_sync_time),
         ('buffers by checkpoints', b.buffers_checkpoint),
         ('buffers by the writer', b.buffers_clean),
         ('buffers by backends', b.buffers_backend),
         ('fsyncs by backends', b.buffers_backend_fsync)
     ) AS c (name, value)
