-- Purpose: messages that left the happy path become insert-only as well: pictures, of which the
--          newest counts, in tables that are emptied as a whole (the shelf).
-- Inputs:  none. What a database of version 1 holds is copied.
-- Lock:    ACCESS EXCLUSIVE on the tables that it replaces.
-- Index:   every index is named here.

-- Which generation of the tables below is written (shelf), which is the oldest that may still
-- have rows (shelf_low), above which transaction nobody writes to older generations (shelf_mark,
-- 0 until known), since when it is written, and how many bytes it had when all that lives had
-- been copied to it. Read outside MVCC.
CREATE SEQUENCE slipring.shelf MINVALUE 0 START 0;
CREATE SEQUENCE slipring.shelf_low MINVALUE 0 START 0;
CREATE SEQUENCE slipring.shelf_mark MINVALUE 0 START 0;
CREATE SEQUENCE slipring.shelf_since MINVALUE 0 START 0;
CREATE SEQUENCE slipring.shelf_kept MINVALUE 0 START 0;
SELECT setval('slipring.shelf', 0), setval('slipring.shelf_low', 0),
    setval('slipring.shelf_mark', 0), setval('slipring.shelf_since', 0),
    setval('slipring.shelf_kept', 0);

-- What is copied from below; the new indexes have the names of the old ones.
DROP INDEX slipring.item_order, slipring.item_sent, slipring.item_due, slipring.item_deadline,
    slipring.item_holder, slipring.item_source, slipring.item_group, slipring.item_blocking;

-- Messages for themselves: delayed, retried, parked, dead-lettered, of FIFO queues, or of a
-- priority without a lane. The newest picture of a message (highest seq) counts. state is 0
-- delayed, 1 ready, 2 leased, 3 parked, 4 gone; turn is the due time or deadline in the states 0
-- and 2, else the rank (the priority, in FIFO queues 0).
CREATE TABLE slipring.item_picture (
    slot int NOT NULL,
    id bigint NOT NULL,
    seq bigint NOT NULL,
    -- The transaction that wrote it, as the first message number that it could give. A picture
    -- that is copied to another slot keeps it.
    entry bigint NOT NULL,
    queue_id int NOT NULL,
    state smallint NOT NULL CHECK (state BETWEEN 0 AND 4),
    turn bigint NOT NULL,
    priority bigint NOT NULL,
    sent_ms bigint NOT NULL,
    attempts bigint NOT NULL,
    -- The newest hand-out; 0 before the first.
    fence bigint NOT NULL,
    first_received_ms bigint,
    delay_ms bigint NOT NULL,
    lease_ms bigint,
    -- The process whose connection holds it, for leases that end with the process.
    holder bigint,
    bytes int NOT NULL,
    -- The group, '' for none, in FIFO queues; else null.
    fifo_group text,
    source text
) PARTITION BY LIST (slot);

CREATE INDEX item_order ON slipring.item_picture (queue_id, state, turn, id) WHERE state < 4;
CREATE INDEX item_order_new ON slipring.item_picture (queue_id, state, entry)
    WHERE state IN (1, 3);
CREATE INDEX item_time ON slipring.item_picture (state, turn) WHERE state IN (0, 2);
CREATE INDEX item_time_new ON slipring.item_picture (state, entry) WHERE state IN (0, 2);
CREATE INDEX item_sent ON slipring.item_picture (queue_id, sent_ms, id) WHERE state < 4;
CREATE INDEX item_holder ON slipring.item_picture (holder) WHERE holder IS NOT NULL;
CREATE INDEX item_source ON slipring.item_picture (queue_id, source, state, turn, id)
    WHERE source IS NOT NULL;
CREATE INDEX item_group ON slipring.item_picture (queue_id, fifo_group, id)
    WHERE fifo_group IS NOT NULL AND state < 3;
CREATE INDEX item_blocking ON slipring.item_picture (queue_id, fifo_group, id)
    WHERE fifo_group IS NOT NULL AND (state = 2 OR (state = 0 AND attempts > 0));

-- What never changes of these messages. A message that goes to another queue takes it along.
CREATE TABLE slipring.item_body (
    slot int NOT NULL,
    id bigint NOT NULL,
    group_name text,
    dedup_id text,
    headers text,
    body bytea NOT NULL
) PARTITION BY LIST (slot);

CREATE INDEX item_body_id ON slipring.item_body (id);

-- How far pictures in an order have been read; the newest row (highest seq) of a queue and kind
-- counts. Everything before (turn, id) is done with, but for pictures with an entry in unseen: so
-- a reader begins at (turn, id) and looks at the few new ones by their entries, and never walks
-- over what is done. kind is the state whose pictures are read (0 and 2 for all queues together,
-- queue 0), or 4: the
-- heads of FIFO groups, 5: groups that were touched, 6: pictures sent up to
-- turn, with numbers up to id, have been copied to the generation that unseen has.
CREATE TABLE slipring.mark (
    slot int NOT NULL,
    queue_id int NOT NULL,
    kind smallint NOT NULL,
    seq bigint NOT NULL,
    turn bigint NOT NULL,
    id bigint NOT NULL,
    unseen int8multirange NOT NULL
) PARTITION BY LIST (slot);

CREATE INDEX mark_newest ON slipring.mark (queue_id, kind, seq);

-- How many messages of a queue have pictures, as differences that their writers add, senders
-- without a lock.
DROP TABLE slipring.tally;
CREATE TABLE slipring.tally (
    slot int NOT NULL,
    queue_id int NOT NULL,
    -- As in item_picture.
    entry bigint NOT NULL,
    ready bigint NOT NULL,
    urgent bigint NOT NULL,
    delayed bigint NOT NULL,
    leased bigint NOT NULL,
    parked bigint NOT NULL,
    bytes bigint NOT NULL
) PARTITION BY LIST (slot);

CREATE INDEX tally_queue ON slipring.tally (queue_id, entry);

-- Sums of all differences but those with an entry in unseen; the newest row of a queue counts.
CREATE TABLE slipring.tally_sum (
    slot int NOT NULL,
    queue_id int NOT NULL,
    seq bigint NOT NULL,
    ready bigint NOT NULL,
    urgent bigint NOT NULL,
    delayed bigint NOT NULL,
    leased bigint NOT NULL,
    parked bigint NOT NULL,
    bytes bigint NOT NULL,
    unseen int8multirange NOT NULL
) PARTITION BY LIST (slot);

CREATE INDEX tally_sum_newest ON slipring.tally_sum (queue_id, seq);

-- Groups of FIFO queues; the newest picture of a group counts.
DROP TABLE slipring.fifo_group;
CREATE TABLE slipring.fifo_group (
    slot int NOT NULL,
    queue_id int NOT NULL,
    name text NOT NULL,
    seq bigint NOT NULL,
    -- As in item_picture.
    entry bigint NOT NULL,
    -- The first message of the group that is not parked; null where there is none.
    low_id bigint,
    -- What the group may give next; null while it may give nothing.
    head_id bigint
) PARTITION BY LIST (slot);

CREATE INDEX fifo_group_name ON slipring.fifo_group (queue_id, name, seq);
CREATE INDEX fifo_group_open ON slipring.fifo_group (queue_id, head_id)
    WHERE head_id IS NOT NULL;
CREATE INDEX fifo_group_new ON slipring.fifo_group (queue_id, entry) WHERE head_id IS NOT NULL;

CREATE VIEW slipring.fifo_group_newest AS
SELECT g.* FROM slipring.fifo_group g
WHERE g.seq = (SELECT n.seq FROM slipring.fifo_group n
    WHERE n.queue_id = g.queue_id AND n.name = g.name ORDER BY n.seq DESC LIMIT 1);

-- Groups in which somebody without the queue's lock has put messages, and the first of them.
DROP TABLE slipring.fifo_touched;
CREATE TABLE slipring.fifo_touched (
    slot int NOT NULL,
    queue_id int NOT NULL,
    name text NOT NULL,
    id bigint NOT NULL,
    -- As in item_picture.
    entry bigint NOT NULL
) PARTITION BY LIST (slot);

CREATE INDEX fifo_touched_queue ON slipring.fifo_touched (queue_id, entry);

-- Deduplication ids; the newest round of an id counts. Which generation is written (dedup_now),
-- which is the oldest that may have rows (dedup_low), above which transaction nobody writes to
-- older generations (dedup_mark, 0 until known), for which generation nobody is left who does
-- (dedup_settled), and since when it is written. Read outside MVCC.
CREATE SEQUENCE slipring.dedup_now MINVALUE 0 START 0;
CREATE SEQUENCE slipring.dedup_low MINVALUE 0 START 0;
CREATE SEQUENCE slipring.dedup_mark MINVALUE 0 START 0;
CREATE SEQUENCE slipring.dedup_settled MINVALUE 0 START 0;
CREATE SEQUENCE slipring.dedup_since MINVALUE 0 START 0;
SELECT setval('slipring.dedup_now', 0), setval('slipring.dedup_low', 0),
    setval('slipring.dedup_mark', 0), setval('slipring.dedup_settled', 0),
    setval('slipring.dedup_since', 0);

ALTER TABLE slipring.dedup RENAME TO dedup_old;
DROP INDEX slipring.dedup_until;
CREATE TABLE slipring.dedup (
    slot int NOT NULL,
    queue_id int NOT NULL,
    -- '' or ':' and the group.
    scope text NOT NULL,
    dedup_id text NOT NULL,
    -- One more each time that the id is used again after its window.
    round int NOT NULL,
    message_id bigint NOT NULL,
    until_ms bigint NOT NULL
) PARTITION BY LIST (slot);

CREATE INDEX dedup_until ON slipring.dedup (until_ms);

DO $$
DECLARE
    v_table text;
BEGIN
    FOREACH v_table IN ARRAY ARRAY['item_picture', 'item_body', 'mark', 'tally', 'tally_sum',
        'fifo_group', 'fifo_touched', 'dedup'] LOOP
        FOR slot IN 0..2 LOOP
            EXECUTE format('CREATE TABLE slipring.%1$s_%2$s PARTITION OF slipring.%1$s
                FOR VALUES IN (%2$s) WITH (autovacuum_enabled = false)', v_table, slot);
        END LOOP;
    END LOOP;
    FOR slot IN 0..2 LOOP
        EXECUTE format('CREATE UNIQUE INDEX item_picture_%1$s_newest
            ON slipring.item_picture_%1$s (id, seq)', slot);
        EXECUTE format('CREATE UNIQUE INDEX dedup_%1$s_once
            ON slipring.dedup_%1$s (queue_id, scope, dedup_id, round)', slot);
        EXECUTE format('ALTER TABLE slipring.item_body_%s SET (toast.autovacuum_enabled = false)',
            slot);
    END LOOP;
END $$;

INSERT INTO slipring.item_picture (slot, id, seq, entry, queue_id, state, turn, priority, sent_ms,
    attempts, fence, first_received_ms, delay_ms, lease_ms, holder, bytes, fifo_group, source)
SELECT 0, i.id, 1, 0, i.queue_id, i.state, i.turn, i.priority, i.sent_ms, i.attempts, i.fence,
    i.first_received_ms, i.delay_ms, i.lease_ms, i.holder, i.bytes, i.fifo_group, i.source
FROM slipring.item i;

INSERT INTO slipring.item_body (slot, id, group_name, dedup_id, headers, body)
SELECT 0, i.id, i.group_name, i.dedup_id, i.headers, i.body FROM slipring.item i;

INSERT INTO slipring.tally
SELECT 0, i.queue_id, 0, count(*) FILTER (WHERE i.state = 1),
    count(*) FILTER (WHERE i.state = 1 AND i.priority < 1024),
    count(*) FILTER (WHERE i.state = 0), count(*) FILTER (WHERE i.state = 2),
    count(*) FILTER (WHERE i.state = 3), sum(i.bytes)
FROM slipring.item i GROUP BY i.queue_id;

INSERT INTO slipring.fifo_touched
SELECT 0, i.queue_id, i.fifo_group, min(i.id), 0 FROM slipring.item i
WHERE i.fifo_group IS NOT NULL GROUP BY i.queue_id, i.fifo_group;

INSERT INTO slipring.dedup
SELECT 0, d.queue_id, d.scope, d.dedup_id, 1, d.message_id, d.until_ms
FROM slipring.dedup_old d;

DROP TABLE slipring.item, slipring.dedup_old;

-- The messages that are there, as their newest pictures say. By number, item_now is faster.
CREATE VIEW slipring.item AS
SELECT p.* FROM slipring.item_picture p
WHERE p.state < 4 AND p.seq = (
    SELECT n.seq FROM slipring.item_picture n WHERE n.id = p.id ORDER BY n.seq DESC LIMIT 1);
