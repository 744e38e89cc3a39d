-- Purpose: pages that were changed for the first time since a checkpoint; each is written to the
--          log as a whole then.
-- Inputs: none.
-- Lock: none.
-- Index: none.
SELECT wal_fpi FROM pg_stat_wal
