-- Purpose: what must be known of the server and the schema before anything else
-- Inputs: none
-- Lock: none
-- Index: pg_class by namespace
SELECT current_setting('server_version_num')::int8, pg_is_in_recovery(),
  current_setting('transaction_read_only') = 'on', current_setting('transaction_isolation'),
  current_setting('fsync') = 'on', to_regclass('slipring.migration') IS NOT NULL,
  to_regnamespace('slipring') IS NOT NULL,
  EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('slipring')),
  current_setting('server_encoding')
