-- Purpose: the tables, sequences and indexes of the store. PostgreSQL 15 or newer, no extension.
-- Inputs:  none. Runs once, in one transaction, under the migration lock.
-- Lock:    none but the catalogue's.
-- Index:   every index is named here; tables that rotate have one or two, nothing more.
--
-- Three kinds of tables: those that only grow and are emptied as a whole (message, state, lease,
-- ack), ordinary rows for what left the happy path (item, fifo_group, dedup, tally), and what
-- administration writes (store, queue, place).

CREATE TABLE slipring.store (
    id int PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    -- Seals receipts; made once and kept.
    receipt_key bytea NOT NULL CHECK (octet_length(receipt_key) = 32),
    -- Added to transaction numbers, so that message numbers grow over a restore into another
    -- cluster.
    xid_base bigint NOT NULL DEFAULT 0,
    -- Of the cluster that the transaction numbers are from, where it may be read.
    system_identifier bigint
);

-- One row while the server runs; after a crash, which may have lost commits that did not wait for
-- their flush, and on a promoted standby the table is empty: see commit_defer.
CREATE UNLOGGED TABLE slipring.incarnation (
    id int PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    token text NOT NULL
);

DO $$
DECLARE
    v_system bigint;
BEGIN
    BEGIN
        v_system := (SELECT c.system_identifier FROM pg_control_system() c);
    EXCEPTION WHEN insufficient_privilege THEN
        RAISE NOTICE 'the server does not say which cluster it is; a restore is not noticed';
    END;
    INSERT INTO slipring.store (receipt_key, system_identifier)
    VALUES (sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
        || uuid_send(gen_random_uuid())), v_system);
END $$;

-- Sets of three tables that hold the messages of a queue; used again after their queue is gone.
CREATE TABLE slipring.place (
    place int PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    -- Null when its queue was deleted.
    queue_id int,
    -- Above this transaction nobody writes to it for a deleted queue; null until known.
    mark bigint,
    -- The tables are empty and may be given to a new queue.
    empty boolean NOT NULL DEFAULT false,
    -- The sequences of the deleted queue.
    generation text,
    endings text
);

CREATE INDEX place_free ON slipring.place (place) WHERE queue_id IS NULL;

CREATE TABLE slipring.queue (
    queue_id int PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL,
    -- The settings as programs know them; the columns below repeat what the functions need.
    settings jsonb NOT NULL,
    created_ms bigint NOT NULL,
    modified_ms bigint NOT NULL,
    xid_base bigint NOT NULL,
    place int NOT NULL REFERENCES slipring.place,
    -- The generation of the message tables that is written now, -1 when the queue is deleted:
    -- read outside MVCC.
    generation regclass NOT NULL,
    -- Counts ends of leases other than by ack: read outside MVCC.
    endings regclass NOT NULL,
    -- Moves when something was written; of a few sequences that queues share, so that one look
    -- shows whether anything may have changed: read outside MVCC.
    activity regclass NOT NULL,
    -- Priorities that have a lane in the log; others go to item. Only ever grows.
    lanes bigint[] NOT NULL,
    visibility_timeout_ms bigint NOT NULL,
    max_attempts bigint,
    backoff_kind text NOT NULL,
    backoff_base_ms bigint NOT NULL,
    backoff_max_ms bigint NOT NULL,
    dead_letter text,
    retention_ms bigint,
    delay_ms bigint NOT NULL,
    relaxed boolean NOT NULL,
    fifo boolean NOT NULL,
    dedup_window_ms bigint NOT NULL,
    dedup_by_group boolean NOT NULL,
    paused boolean NOT NULL,
    paused_until_ms bigint,
    -- The end of the pause has been told to those who wait.
    pause_over boolean NOT NULL DEFAULT false,
    messages_max bigint,
    bytes_max bigint,
    message_bytes_max bigint NOT NULL,
    in_flight_max bigint NOT NULL
) WITH (fillfactor = 50);

CREATE UNIQUE INDEX queue_name ON slipring.queue (name);

CREATE INDEX queue_pause ON slipring.queue (paused_until_ms)
    WHERE paused_until_ms IS NOT NULL AND NOT pause_over;

CREATE INDEX queue_retention ON slipring.queue (queue_id) WHERE retention_ms IS NOT NULL;

-- The log. A row is written once and never changed; a partition is emptied as a whole.
-- place is place.place * 4 + generation % 3; id is (transaction + xid_base) << 18 | number within
-- the transaction, so that a range of transactions is a range of ids.
--
-- Messages of one transaction that are nothing but small bodies may share a row, a pack: id is
-- the number of the last of them, the others have the numbers before it. No pack reaches from one
-- transaction into another, so a cut never goes through one.
CREATE TABLE slipring.message (
    id bigint NOT NULL,
    lane bigint NOT NULL,
    sent_ms bigint NOT NULL,
    place int NOT NULL,
    bytes int NOT NULL,
    -- How many messages a pack has, 2 to 64, and the size of each when all have the same; null
    -- where the row is one message. See pack_end for the body of a pack.
    n smallint,
    bytes_each int,
    -- The true priority where the lane does not say it (FIFO queues).
    priority bigint,
    lease_ms bigint,
    group_name text,
    dedup_id text,
    headers text,
    body bytea NOT NULL
) PARTITION BY LIST (place);

-- Which generation of state, lease and ack is written (journal), which is the oldest that may
-- still have rows (journal_low), and above which transaction nobody writes to older generations
-- (journal_mark, 0 until known). Read outside MVCC.
CREATE SEQUENCE slipring.journal MINVALUE 0 START 0;
CREATE SEQUENCE slipring.journal_low MINVALUE 0 START 0;
CREATE SEQUENCE slipring.journal_mark MINVALUE 0 START 0;
CREATE SEQUENCE slipring.journal_since MINVALUE 0 START 0;
SELECT setval('slipring.journal', 0), setval('slipring.journal_low', 0),
    setval('slipring.journal_mark', 0), setval('slipring.journal_since', 0);

DO $$
BEGIN
    FOR n IN 0..15 LOOP
        EXECUTE format('CREATE SEQUENCE slipring.activity_%s MINVALUE 0 START 0', n);
        PERFORM setval(format('slipring.activity_%s', n)::regclass, 0);
    END LOOP;
END $$;

-- The newest row of a queue (highest seq) is its state; written under the queue's lock.
CREATE TABLE slipring.state (
    slot int NOT NULL,
    queue_id int NOT NULL,
    seq bigint NOT NULL,
    -- The newest fence that was given.
    fence bigint NOT NULL,
    -- Per lane, in the order of priorities: which ids are not handed out yet, and how many
    -- messages and bytes of them have been counted.
    lanes bigint[] NOT NULL,
    open int8multirange[] NOT NULL,
    counted bigint[] NOT NULL,
    counted_bytes bigint[] NOT NULL,
    -- Ids that the counts above have not seen.
    uncounted int8multirange NOT NULL,
    -- Ids of rows of ack that have not been taken in yet.
    acks int8multirange NOT NULL,
    leased bigint NOT NULL,
    leased_bytes bigint NOT NULL,
    -- No lease of the log lapses before it; null when there is none.
    lapse_ms bigint,
    endings bigint NOT NULL,
    -- The oldest generation of the message tables that may have messages which count.
    generation_low bigint NOT NULL,
    -- Above this transaction nobody writes to older generations than the present; null until
    -- known.
    generation_mark bigint,
    generation_since_ms bigint NOT NULL,
    -- The generation of the journal to which all that is open has been copied.
    journal bigint NOT NULL
) PARTITION BY LIST (slot);

CREATE INDEX state_newest ON slipring.state (queue_id, seq);

-- Hand-outs from the log; the newest row of (queue, fence, part) counts. open covers the ids in
-- the holder's hands and gaps without messages; n says how many there are, 0 that it is over.
CREATE TABLE slipring.lease (
    slot int NOT NULL,
    queue_id int NOT NULL,
    fence bigint NOT NULL,
    part bigint NOT NULL,
    seq bigint NOT NULL,
    lane bigint NOT NULL,
    deadline_ms bigint NOT NULL,
    leased_ms bigint NOT NULL,
    holder bigint,
    n bigint NOT NULL,
    bytes bigint NOT NULL,
    -- The size of each message when all have the same.
    bytes_each bigint,
    open int8multirange NOT NULL
) PARTITION BY LIST (slot);

CREATE INDEX lease_newest ON slipring.lease (queue_id, fence, part, seq);
CREATE INDEX lease_deadline ON slipring.lease (queue_id, deadline_ms);
CREATE INDEX lease_holder ON slipring.lease (holder) WHERE holder IS NOT NULL;

-- Acks inside users' transactions; ids as in message.
CREATE TABLE slipring.ack (
    slot int NOT NULL,
    queue_id int NOT NULL,
    id bigint NOT NULL,
    message_id bigint NOT NULL,
    fence bigint NOT NULL
) PARTITION BY LIST (slot);

CREATE INDEX ack_queue ON slipring.ack (queue_id, id);

DO $$
BEGIN
    FOR slot IN 0..2 LOOP
        EXECUTE format('CREATE TABLE slipring.state_%s PARTITION OF slipring.state
            FOR VALUES IN (%s) WITH (autovacuum_enabled = false,
            toast.autovacuum_enabled = false)', slot, slot);
        EXECUTE format('CREATE TABLE slipring.lease_%s PARTITION OF slipring.lease
            FOR VALUES IN (%s) WITH (autovacuum_enabled = false,
            toast.autovacuum_enabled = false)', slot, slot);
        EXECUTE format('CREATE TABLE slipring.ack_%s PARTITION OF slipring.ack
            FOR VALUES IN (%s) WITH (autovacuum_enabled = false)', slot, slot);
        EXECUTE format('CREATE UNIQUE INDEX ack_%s_once ON slipring.ack_%s (message_id, fence)',
            slot, slot);
    END LOOP;
END $$;

-- Messages for themselves: delayed, retried, parked, dead-lettered, of FIFO queues, or of a
-- priority without a lane. state is 0 delayed, 1 ready, 2 leased, 3 parked; turn is the due time
-- or deadline in the states 0 and 2, else the rank (the priority, in FIFO queues 0).
CREATE TABLE slipring.item (
    id bigint PRIMARY KEY,
    queue_id int NOT NULL,
    state smallint NOT NULL CHECK (state BETWEEN 0 AND 3),
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
    source text,
    group_name text,
    dedup_id text,
    headers text,
    body bytea NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX item_order ON slipring.item (queue_id, state, turn, id);
CREATE INDEX item_sent ON slipring.item (queue_id, id);
CREATE INDEX item_due ON slipring.item (turn) WHERE state = 0;
CREATE INDEX item_deadline ON slipring.item (turn) WHERE state = 2;
CREATE INDEX item_holder ON slipring.item (holder) WHERE holder IS NOT NULL;
CREATE INDEX item_source ON slipring.item (queue_id, source, state, turn, id)
    WHERE source IS NOT NULL;
CREATE INDEX item_group ON slipring.item (queue_id, fifo_group, id)
    WHERE fifo_group IS NOT NULL AND state <> 3;
CREATE INDEX item_blocking ON slipring.item (queue_id, fifo_group)
    WHERE fifo_group IS NOT NULL AND (state = 2 OR (state = 0 AND attempts > 0));

-- What each group of a FIFO queue may give next; head_id is null while it may give nothing.
CREATE TABLE slipring.fifo_group (
    queue_id int NOT NULL,
    name text NOT NULL,
    head_id bigint,
    PRIMARY KEY (queue_id, name)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX fifo_group_open ON slipring.fifo_group (queue_id, head_id)
    WHERE head_id IS NOT NULL;

-- Groups whose row in fifo_group may be out of date. Whoever changes messages adds rows without a
-- lock; whoever hands out brings the groups up to date under the queue's lock.
CREATE TABLE slipring.fifo_touched (
    queue_id int NOT NULL,
    name text NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX fifo_touched_queue ON slipring.fifo_touched (queue_id);

CREATE TABLE slipring.dedup (
    queue_id int NOT NULL,
    -- '' or ':' and the group.
    scope text NOT NULL,
    dedup_id text NOT NULL,
    message_id bigint NOT NULL,
    until_ms bigint NOT NULL,
    PRIMARY KEY (queue_id, scope, dedup_id)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX dedup_until ON slipring.dedup (until_ms);

-- How many rows of item a queue has, as differences: their sum counts. Senders add rows without
-- a lock; whoever holds the queue's lock folds them.
CREATE TABLE slipring.tally (
    queue_id int NOT NULL,
    ready bigint NOT NULL,
    urgent bigint NOT NULL,
    delayed bigint NOT NULL,
    leased bigint NOT NULL,
    parked bigint NOT NULL,
    bytes bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX tally_queue ON slipring.tally (queue_id);

-- A message that leaves the log for item, or changes there; see moves_apply and item_set.
CREATE TYPE slipring.move AS (
    lane bigint,
    id bigint,
    state int,
    until_ms bigint,
    priority bigint,
    attempts bigint,
    fence bigint,
    first_ms bigint,
    delay_ms bigint,
    dead boolean
);

-- The first ready messages of a lane, read together; see claim_read.
CREATE TYPE slipring.lane_read AS (
    -- The place of the lane in the state, the ids that are read to the end by it, and whether it
    -- had to end before the lane did.
    at int,
    region int8multirange,
    ended boolean,
    total int,
    first_id bigint,
    last_id bigint,
    bytes bigint,
    -- The size of each message when all have the same, and the lease of each likewise.
    bytes_each bigint,
    lease_each bigint,
    -- Whether some have a lease of their own that others do not have.
    leases_differ boolean,
    -- Row by row; of packs their last number, which need not be among those read.
    ids bigint[],
    sents_ms bigint[],
    bodies bytea[],
    -- The bytes of the messages of each row that are read.
    sizes int[],
    -- Null where there is no pack among the rows: how many messages packs have, their bytes_each,
    -- and of each row the first number that is read and how many are.
    ns int[],
    eachs_bytes int[],
    firsts bigint[],
    counts int[],
    -- Null where no message has one.
    groups text[],
    dedup_ids text[],
    headers_each text[]
);
