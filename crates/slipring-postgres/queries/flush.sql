-- Purpose: waits until all that was committed before is flushed
-- Inputs: none
-- Lock: none
-- Index: none
SELECT slipring.flush()
