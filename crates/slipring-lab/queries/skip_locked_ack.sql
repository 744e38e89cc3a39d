-- Purpose: acks what was claimed.
-- Inputs: $1 ids.
-- Lock: the rows deleted.
-- Index: the primary key.
DELETE FROM job WHERE id = ANY ($1::bigint[])
