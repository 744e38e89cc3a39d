-- Purpose: the settings of PostgreSQL that a figure depends on.
-- Inputs: none.
-- Lock: none.
-- Index: none.
SELECT name, current_setting(name) FROM pg_settings
WHERE name IN (
    'server_version', 'synchronous_commit', 'fsync', 'full_page_writes', 'wal_level', 'wal_compression',
    'shared_buffers', 'max_connections', 'max_wal_size', 'checkpoint_timeout', 'autovacuum',
    'autovacuum_naptime', 'autovacuum_vacuum_scale_factor', 'wal_sync_method', 'jit'
)
ORDER BY name
