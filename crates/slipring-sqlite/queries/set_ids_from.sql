-- Purpose: forgets deduplication ids of a queue
-- Inputs: ?1 queue_id, ?2 the stamp before which they are forgotten
-- Lock: the write lock, held by the transaction
-- Index: primary key of queue
UPDATE queue SET ids_from = ?2 WHERE queue_id = ?1
