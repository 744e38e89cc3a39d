-- Purpose: makes a database that was restored from a dump usable again
-- Inputs: none
-- Lock: every queue's, see functions/store/store_import.sql
-- Index: see functions/store/store_import.sql
SELECT xid_base::int8, queues::int8 FROM slipring.store_import()
