-- Purpose: notes a part of a load
-- Inputs: ?1 load_id, ?2 part, ?3 messages, ?4 checksum
-- Lock: the write lock, held by the transaction
-- Index: primary key of load_part
INSERT INTO load_part (load_id, part, messages, checksum) VALUES (?1, ?2, ?3, ?4)
