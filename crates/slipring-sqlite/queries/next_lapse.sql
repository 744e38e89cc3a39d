-- Purpose: when the next lease of the log lapses
-- Inputs: none
-- Lock: none
-- Index: lease_deadline
SELECT min(deadline_ms) FROM lease
