-- Purpose: removes parts of a load that is over
-- Inputs: ?1 load_id, ?2 at most so many
-- Lock: the write lock, held by the transaction
-- Index: primary key of load_part
DELETE FROM load_part
WHERE (load_id, part) IN (
    SELECT load_id, part FROM load_part WHERE load_id = ?1 LIMIT ?2
)
