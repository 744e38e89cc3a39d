-- Purpose: whether a purge of a queue has begun and has not come to its end: while messages in ids_ended are in
--          the queue still, their deduplication ids count.
-- Inputs:  none.
-- Lock:    the table of the queues.
-- Index:   none.
ALTER TABLE slipring.queue ADD COLUMN purging boolean NOT NULL DEFAULT false;
