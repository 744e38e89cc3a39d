-- Purpose: the version of the store's schema in this database, and the database's name.
-- Inputs: none.
-- Lock: none.
-- Index: the migrations' key.
SELECT max(version)::text, current_database()::text FROM slipring.migration
