-- Purpose: the settings of a session that only looks: it changes nothing and does not wait long.
-- Inputs: none.
-- Lock: none.
-- Index: none.
SET default_transaction_read_only = on;
SET lock_timeout = '100ms';
SET statement_timeout = '5s';
SET idle_in_transaction_session_timeout = '10s'
