-- Purpose: whether the store can serve: the schema's version and functions, and whether writing is allowed
-- Inputs: none
-- Lock: none
-- Index: primary key of migration
SELECT (SELECT max(version) FROM slipring.migration)::int8, pg_is_in_recovery(),
  current_setting('transaction_read_only') = 'on',
  has_table_privilege('slipring.queue', 'SELECT'),
  (SELECT name FROM slipring.migration WHERE version = 0)
