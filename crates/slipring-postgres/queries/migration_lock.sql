-- Purpose: lets one program at a time change the schema, until its transaction ends
-- Inputs: none
-- Lock: the schema's ("slipring" in ASCII)
-- Index: none
SELECT pg_advisory_xact_lock(8317138543523229287)
