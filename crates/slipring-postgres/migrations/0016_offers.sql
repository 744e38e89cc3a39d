-- Purpose: a receive by SQL of one message takes the next of a list, see decision 0043.
-- Inputs:  none.
-- Lock:    ACCESS EXCLUSIVE on state and SHARE on lease, for a moment: whoever receives by SQL is waited
--          for, so that all hand-outs are as the indexes need them.
-- Index:   offer_newest, lease_single, lease_several.

LOCK TABLE slipring.state IN ACCESS EXCLUSIVE MODE;

-- Ready messages of a queue that the next receives by SQL try, one each: ids[n] is tried by whoever has
-- drawn the ticket first + n - 1. It gives no right to a message, so that who changes the queue need not
-- know of it.
CREATE TABLE slipring.offer (
    slot int NOT NULL,
    queue_id int NOT NULL,
    -- The tickets: from this one, and the first one behind them.
    first bigint NOT NULL,
    past bigint NOT NULL,
    -- When it was made, and when the last one was that began with the first ready message.
    made_ms bigint NOT NULL,
    front_ms bigint NOT NULL,
    -- The message tables that may have them: of this generation, and of those after it.
    tables text[] NOT NULL,
    generation_low bigint NOT NULL,
    lane bigint NOT NULL,
    -- What was ready up to the last of them.
    ready int8multirange NOT NULL,
    ids bigint[] NOT NULL
) PARTITION BY LIST (slot);
-- Read for one of them at a time, so in the row, and nothing else of it elsewhere.
ALTER TABLE slipring.offer ALTER COLUMN ids SET STORAGE PLAIN;
CREATE INDEX offer_newest ON slipring.offer (queue_id, first);

-- Hand-outs without the queue's lock, by message and by fence. Expressions, so that no other statement's
-- plan takes them, nor theirs another index (decision 0038).
CREATE INDEX lease_single ON slipring.lease ((queue_id * 4::bigint), upper(open))
    WHERE seq + 0 = 0 AND n + 0 = 1;
CREATE INDEX lease_several ON slipring.lease ((queue_id * 8::bigint), (fence + 0))
    WHERE seq + 0 = 0 AND n + 1 > 2;

DO $$
BEGIN
    FOR slot IN 0..2 LOOP
        EXECUTE format('CREATE TABLE slipring.offer_%1$s PARTITION OF slipring.offer
            FOR VALUES IN (%1$s) WITH (autovacuum_enabled = false, toast_tuple_target = 8160)', slot);
    END LOOP;
    FOR slot IN 0..2 LOOP
        EXECUTE format('CREATE VIEW slipring_journal_%1$s.offer AS
            SELECT * FROM slipring.offer_%1$s UNION ALL SELECT * FROM slipring.offer_%2$s',
            slot, (slot + 1) % 3);
    END LOOP;
    -- A queue's tickets are drawn from one of these, by its number: the more of them, the less often the
    -- tickets of a queue are drawn by receives of others, which do not use them.
    FOR n IN 0..63 LOOP
        EXECUTE format('CREATE SEQUENCE slipring.ticket_%s MINVALUE 0 START 0', n);
        PERFORM setval(format('slipring.ticket_%s', n), 0);
    END LOOP;
END $$;
