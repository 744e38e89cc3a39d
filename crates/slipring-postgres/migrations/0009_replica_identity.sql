-- Purpose: a publication for all tables does not stop a verb.
-- Inputs:  none.
-- Lock:    ACCESS EXCLUSIVE on the tables of deduplication ids, for a moment.
-- Index:   none.
--
-- PostgreSQL refuses DELETE and UPDATE on a published table that has no replica identity. All tables
-- with rows that are deleted or updated have a primary key, but these: their rows are deleted where
-- a message with a deduplication id is refused.

ALTER TABLE slipring.dedup_0 REPLICA IDENTITY FULL;
ALTER TABLE slipring.dedup_1 REPLICA IDENTITY FULL;
ALTER TABLE slipring.dedup_2 REPLICA IDENTITY FULL;
