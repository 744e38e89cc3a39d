-- Purpose: names the Debian package of PgQ for this PostgreSQL, and says whether its extension is
-- there.
-- Inputs: none.
-- Lock: none.
-- Index: none.
SELECT 'postgresql-' || current_setting('server_version_num')::integer / 10000 || '-pgq3',
       EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pgq')
