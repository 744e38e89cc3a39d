-- Purpose: a receive by SQL of several messages takes parts of a list, see decision 0044.
-- Inputs:  none.
-- Lock:    ACCESS EXCLUSIVE on offer, for a moment.
-- Index:   offer_newest.

-- What is offered belongs to tickets that are drawn otherwise from now on.
TRUNCATE slipring.offer;
DROP VIEW slipring_journal_0.offer, slipring_journal_1.offer, slipring_journal_2.offer;

-- several: each of ids is the last number of a part of several messages, and sizes says of how many.
-- Else each is a message, and sizes is null.
-- reach:      the highest number that has been offered so far.
-- again:      up to here messages are offered again, if they are still ready: they were offered before the
--             last time but one that offers began with the first ready message.
-- again_next: what again is the next time; where reach stood the last time.
ALTER TABLE slipring.offer
    ADD COLUMN several boolean NOT NULL,
    ADD COLUMN sizes int[],
    ADD COLUMN reach bigint NOT NULL,
    ADD COLUMN again bigint NOT NULL,
    ADD COLUMN again_next bigint NOT NULL;
ALTER TABLE slipring.offer ALTER COLUMN sizes SET STORAGE PLAIN;
DROP INDEX slipring.offer_newest;
CREATE INDEX offer_newest ON slipring.offer (queue_id, several, first);

DO $$
BEGIN
    FOR slot IN 0..2 LOOP
        EXECUTE format('CREATE VIEW slipring_journal_%1$s.offer AS
            SELECT * FROM slipring.offer_%1$s UNION ALL SELECT * FROM slipring.offer_%2$s',
            slot, (slot + 1) % 3);
    END LOOP;
END $$;
