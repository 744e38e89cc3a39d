-- Purpose: what this session holds in memory, in bytes.
-- Inputs: none.
-- Lock: none.
-- Index: none.
SELECT sum(total_bytes)::float8 FROM pg_backend_memory_contexts
