-- Purpose: waits for the end of every transaction that has called functions of the store, and keeps others from
--   beginning, until the migration ends: one that goes on by functions of another build would count its messages
--   anew, or hold locks that those of this build do not know
-- Inputs: none
-- Lock: the table of the queues, which every call reads, for two seconds at most: calls stand behind it. After
--   one, deadlock_timeout, PostgreSQL ends an autovacuum that has it
-- Index: none
SET LOCAL lock_timeout = '2s';
LOCK TABLE slipring.queue IN ACCESS EXCLUSIVE MODE;
SET LOCAL lock_timeout TO DEFAULT
