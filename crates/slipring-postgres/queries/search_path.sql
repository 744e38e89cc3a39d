-- Purpose: for the rest of a migration, nothing that others have made stands before or beside what
--   is PostgreSQL's own
-- Inputs: none
-- Lock: none
-- Index: none
SET LOCAL search_path = pg_catalog, slipring, pg_temp
