-- Purpose: when the next deduplication window closes
-- Inputs: none
-- Lock: none
-- Index: dedup_until
SELECT min(until_ms) FROM dedup
