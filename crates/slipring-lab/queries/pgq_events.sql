-- Purpose: all events of a PgQ batch; an event has no outcome of its own, the batch has.
-- Inputs: $1 the batch.
-- Lock: none.
-- Index: that of the event tables on ev_txid.
SELECT ev_data FROM pgq.get_batch_events($1::bigint)
