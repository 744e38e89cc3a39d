-- Purpose: a program that is stopped amid a transaction of several statements, or out of reach, keeps its
--   locks for 10 s more
-- Inputs: none
-- Lock: none
-- Index: none
SET LOCAL idle_in_transaction_session_timeout = '10s'
