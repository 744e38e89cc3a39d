-- Purpose: changes some pages of the file, to see whether it can be written
-- Inputs: 1 bytes that are not there yet
-- Lock: the writer's transaction
-- Index: primary key of probe
INSERT INTO probe (id, bytes) VALUES (1, ?1)
ON CONFLICT (id) DO UPDATE SET bytes = excluded.bytes
