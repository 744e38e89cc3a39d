-- Purpose: acks a batch by our interface for users of SQL.
-- Inputs: $1 receipts.
-- Lock: the leases', shared.
-- Index: that of the acks.
SELECT count(slipring.ack(receipt)) FROM unnest($1::text[]) AS receipt
