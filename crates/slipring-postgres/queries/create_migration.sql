-- Purpose: makes the list of the migrations that were made; its row 0 names the digest of the
--   functions
-- Inputs: none
-- Lock: none
-- Index: none
CREATE TABLE slipring.migration (
  version int PRIMARY KEY,
  name text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now()
)
