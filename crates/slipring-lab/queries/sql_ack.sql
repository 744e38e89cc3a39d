-- Purpose: acks a batch by our interface for users of SQL.
-- Inputs: $1 receipts.
-- Lock: the leases', shared.
-- Index: that of the acks.
SELECT slipring.ack($1::text[])
