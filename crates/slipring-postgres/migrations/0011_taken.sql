-- Purpose: hand-outs inside users' transactions, without the queue's lock; acks below READ COMMITTED
--          that fail for nothing but what became of their own lease.
-- Inputs:  none.
-- Lock:    ACCESS EXCLUSIVE on state and lease, for a moment.
-- Index:   none.
--
-- taken:         fences of hand-outs that the state does not have yet; null where nobody receives by
--                SQL.
-- taken_journal: the generation of the journal when such a hand-out was last taken into the state.
-- apart:         ready numbers that a verb leaves to others while it runs; always null in the table.

ALTER TABLE slipring.state
    ADD COLUMN taken int8multirange,
    ADD COLUMN taken_journal bigint,
    ADD COLUMN apart int8multirange[];

-- The sequences of endings have the number of the last transaction that ended leases otherwise than by
-- ack, not how often that was; and when the last ack below READ COMMITTED came, in milliseconds.
ALTER TABLE slipring.state DROP COLUMN endings;
CREATE SEQUENCE slipring.older_acks MINVALUE 0 START 0;
SELECT setval('slipring.older_acks', 0);

-- The function is replaced by that of its file.
CREATE FUNCTION slipring.taken_fold() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER taken_fold AFTER INSERT ON slipring.lease
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.seq = 0)
    EXECUTE FUNCTION slipring.taken_fold();
