-- Purpose: a receive by SQL of one message takes the next of a list, see decision 0043.
-- Inputs:  none.
-- Lock:    SHARE on lease, for which hand-outs in open transactions are waited for.
-- Index:   offer_newest, lease_single, lease_several.

-- Ready messages of a queue that the next receives by SQL try, one each: ids[n] is tried by whoever has
-- drawn the ticket first + n - 1. It gives no right to a message, so that who changes the queue need not
-- know of it.
CREATE TABLE slipring.offer (
    slot int NOT NULL,
    queue_id int NOT NULL,
    -- The tickets: from this one, and the first one behind them.
    first bigint NOT NULL,
    past bigint NOT NULL,
    -- The message tables that may have them.
    tables text[] NOT NULL,
    lane bigint NOT NULL,
    -- What was ready up to the last of them.
    ready int8multirange NOT NULL,
    ids bigint[] NOT NULL
) PARTITION BY LIST (slot);
-- Read for one of them at a time.
ALTER TABLE slipring.offer ALTER COLUMN ids SET STORAGE PLAIN;
CREATE INDEX offer_newest ON slipring.offer (queue_id, first);

-- Hand-outs without the queue's lock, by message and by fence. Expressions, so that no other statement's
-- plan takes them, nor theirs another index (decision 0038).
CREATE INDEX lease_single ON slipring.lease ((queue_id * 4::bigint), upper(open)) WHERE seq = 0 AND n = 1;
CREATE INDEX lease_several ON slipring.lease ((queue_id * 8::bigint), fence) WHERE seq = 0 AND n > 1;

DO $$
BEGIN
    FOR slot IN 0..2 LOOP
        EXECUTE format('CREATE TABLE slipring.offer_%1$s PARTITION OF slipring.offer
            FOR VALUES IN (%1$s) WITH (autovacuum_enabled = false)', slot);
    END LOOP;
    FOR slot IN 0..2 LOOP
        EXECUTE format('CREATE VIEW slipring_journal_%1$s.offer AS
            SELECT * FROM slipring.offer_%1$s UNION ALL SELECT * FROM slipring.offer_%2$s',
            slot, (slot + 1) % 3);
    END LOOP;
    -- A queue's tickets are drawn from one of these, by its number: the more of them, the less often the
    -- tickets of a queue are drawn by receives of others, which do not use them.
    FOR n IN 0..15 LOOP
        EXECUTE format('CREATE SEQUENCE slipring.ticket_%s MINVALUE 0 START 0', n);
        PERFORM setval(format('slipring.ticket_%s', n), 0);
    END LOOP;
END $$;
