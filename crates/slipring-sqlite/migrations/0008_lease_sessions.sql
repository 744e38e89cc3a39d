-- Purpose: leases of connections are found by a walk over all leases, once when the first process
--          opens the file, and not by an index that two of ten pages of each message were written for.
-- Inputs: none
-- Lock: the write lock, held by the transaction
-- Index: none
DROP INDEX lease_session;
