-- Purpose: a transaction with an id, which stays open until its session ends.
-- Inputs: none.
-- Lock: that of its own id.
-- Index: none.
BEGIN;
SELECT pg_current_xact_id();
