-- Purpose: one part of a load
-- Inputs: ?1 load_id, ?2 part
-- Lock: none
-- Index: primary key of load_part
SELECT messages, checksum FROM load_part WHERE load_id = ?1 AND part = ?2
