-- Purpose: how many sessions of this database wait for their client to read an answer.
-- Inputs: none.
-- Lock: none.
-- Index: none.
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND state = 'active' AND wait_event = 'ClientWrite'
