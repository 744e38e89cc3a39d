-- Purpose: whether there is room again, asked after a write found none; leaves everything as it is.
--   A megabyte that has to be allocated: a small row finds a place in a page that is there already
-- Inputs: none
-- Lock: none
-- Index: none
DO $$
BEGIN
  CREATE TEMP TABLE slipring_room ON COMMIT DROP AS
    SELECT repeat('room', 64) FROM generate_series(1, 4096);
END $$
