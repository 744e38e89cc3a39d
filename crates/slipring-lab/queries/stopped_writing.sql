-- Purpose: how many sessions of this database wait until who asked them reads the answer.
-- Inputs: none.
-- Lock: none.
-- Index: none.
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND state = 'active' AND wait_event = 'ClientWrite'
