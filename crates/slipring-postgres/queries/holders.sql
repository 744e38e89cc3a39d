-- Purpose: the queues with leases that belong to connections of a holder
-- Inputs: $1 holder
-- Lock: none
-- Index: see functions/store/store_holders.sql
SELECT queue::int8 FROM slipring.store_holders($1)
