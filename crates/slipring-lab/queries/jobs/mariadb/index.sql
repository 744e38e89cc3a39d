-- Purpose: the only index that the published table has besides its key.
-- Inputs: none.
-- Lock: the table's.
-- Index: makes it.
CREATE INDEX jobs_queue_index ON jobs (queue)
