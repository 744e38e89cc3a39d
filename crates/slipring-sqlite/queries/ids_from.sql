-- Purpose: the stamp before which deduplication ids of a queue are forgotten
-- Inputs: ?1 queue_id
-- Lock: none
-- Index: primary key of queue
SELECT ids_from FROM queue WHERE queue_id = ?1
