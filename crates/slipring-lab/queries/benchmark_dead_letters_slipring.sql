-- Purpose: how many dead letters there are in ours.
-- Inputs: none.
-- Lock: none.
-- Index: see functions/api/stats.sql of the store.
SELECT ready FROM slipring.stats('bench-dead')
