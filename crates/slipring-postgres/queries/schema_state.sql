-- Purpose: which migrations were made, and from which functions the present ones come
-- Inputs: none
-- Lock: none
-- Index: primary key of migration
SELECT max(version)::int8, max(name) FILTER (WHERE version = 0) FROM slipring.migration
