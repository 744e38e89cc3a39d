-- Purpose: an ack inside a user's transaction that takes all of a lease is one row.
-- Inputs:  none.
-- Lock:    ACCESS EXCLUSIVE on ack.
-- Index:   ack_N_once, anew.

-- A row is an ack of one message, or with message_id 0 of the messages in ids: all that a lease
-- held. One that acks a single message at REPEATABLE READ enters a row of that kind without ids as
-- well, see ack_queue.
ALTER TABLE slipring.ack ADD COLUMN ids int8multirange;

DO $$
BEGIN
    FOR slot IN 0..2 LOOP
        EXECUTE format('DROP INDEX slipring.ack_%s_once', slot);
        -- Hand-outs of different queues may have the same fence.
        EXECUTE format('CREATE UNIQUE INDEX ack_%s_once
            ON slipring.ack_%s (fence, message_id, queue_id)', slot, slot);
    END LOOP;
END $$;
