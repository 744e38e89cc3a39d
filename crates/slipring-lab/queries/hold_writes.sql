-- Purpose: a transaction that has written, which stays open until its session commits.
-- Inputs: none.
-- Lock: a table of its own.
-- Index: none.
CREATE TABLE held_open (at timestamptz);
BEGIN;
INSERT INTO held_open VALUES (now());
