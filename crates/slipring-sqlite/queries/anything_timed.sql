-- Purpose: whether anything is stored whose time counts: messages (retention, delays, leases),
--   windows of deduplication ids, pauses with an end
-- Inputs: none
-- Lock: none; its caller holds the lock file alone
-- Index: the first row of each table; queue_pause
SELECT EXISTS (SELECT 1 FROM message)
    OR EXISTS (SELECT 1 FROM item)
    OR EXISTS (SELECT 1 FROM dedup)
    OR EXISTS (SELECT 1 FROM load)
    OR EXISTS (SELECT 1 FROM queue WHERE paused_until_ms IS NOT NULL)
