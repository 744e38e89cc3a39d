-- Purpose: a number that moves when the list of queues or the settings of one change
-- Inputs: none
-- Lock: none
-- Index: primary key of store
SELECT queue_changes FROM store WHERE id = 1
