-- Purpose: the process of this session.
-- Inputs: none.
-- Lock: none.
-- Index: none.
SELECT pg_backend_pid()
