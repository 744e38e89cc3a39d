-- Purpose: a transaction that has written, which stays open until the session commits.
-- Inputs:  none
-- Lock:    that of a table of its own
-- Index:   none
CREATE TABLE held_open (at timestamptz);
BEGIN;
INSERT INTO held_open VALUES (now());
