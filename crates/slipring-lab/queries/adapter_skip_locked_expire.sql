-- Purpose: makes ready again what was claimed and not acked in time.
-- Inputs: $1 the queue.
-- Lock: the rows changed.
-- Index: none; it reads the table.
UPDATE job SET ready = true, leased_until = NULL
WHERE queue = $1::text AND NOT ready AND leased_until < now()
