-- Purpose: how many rows are ready, and how many are claimed.
-- Inputs: none.
-- Lock: none.
-- Index: none; it reads the table.
SELECT count(*) FILTER (WHERE ready), count(*) FILTER (WHERE NOT ready) FROM job
