-- Purpose: when the next lease of a lane lapses
-- Inputs: ?1 lane_id
-- Lock: none
-- Index: lease_deadline
SELECT min(deadline_ms) FROM lease WHERE first_position >> 32 = ?1
