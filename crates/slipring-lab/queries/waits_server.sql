-- Purpose: version of the server, whether the user sees sessions of others in full, the database.
-- Inputs: none.
-- Lock: none.
-- Index: none.
SELECT current_setting('server_version_num')::int,
       current_setting('server_version'),
       pg_has_role('pg_read_all_stats', 'USAGE'),
       current_database()::text
