-- Purpose: rows that cannot be what the store has written are kept apart; a database that was
--          restored is told from the one that was dumped; who may do what in this database.
-- Inputs:  none.
-- Lock:    ACCESS EXCLUSIVE on queue and store.
-- Index:   as named.

-- What was taken out of the other tables: the whole row, what is wrong with it, and how many messages
-- it stood for as far as is known. Rows stay until the owner deletes them.
CREATE TABLE slipring.aside (
    aside_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue_id int NOT NULL,
    queue text NOT NULL,
    kind text NOT NULL,
    why text NOT NULL,
    messages bigint NOT NULL,
    kept jsonb NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE INDEX aside_queue ON slipring.aside (queue_id);

-- When a row was written, twice: a dump has only the first column, and what restores it computes
-- the second one anew. So the two differ in a database that was restored, until import makes them
-- equal. A copy of the files, a standby, and pg_upgrade keep both, and go on counting transactions.
CREATE FUNCTION slipring.moment_now(p_written timestamptz) RETURNS timestamptz
LANGUAGE sql IMMUTABLE AS 'SELECT pg_catalog.now()';

ALTER TABLE slipring.store ADD COLUMN written_at timestamptz NOT NULL DEFAULT now();
ALTER TABLE slipring.store ADD COLUMN home_at timestamptz
    GENERATED ALWAYS AS (slipring.moment_now(written_at)) STORED;
ALTER TABLE slipring.queue ADD COLUMN written_at timestamptz NOT NULL DEFAULT now();
ALTER TABLE slipring.queue ADD COLUMN home_at timestamptz
    GENERATED ALWAYS AS (slipring.moment_now(written_at)) STORED;

-- Who was given rights in this database: as producer, consumer or admin, of one queue or of all (0).
-- The roles that the functions make are cluster-wide; that they have rights here is a row as well.
CREATE TABLE slipring.grantee (
    role text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('producer', 'consumer', 'admin')),
    queue_id int NOT NULL DEFAULT 0,
    PRIMARY KEY (role, kind, queue_id)
);
INSERT INTO slipring.grantee (role, kind) VALUES ('slipring_producer', 'producer'),
    ('slipring_consumer', 'consumer'), ('slipring_admin', 'admin');

-- Who may use one of these types has the right in all queues. Nothing is made of them, and nobody can
-- lock a type. Everybody may until somebody is given rights in one queue: till then whoever may call a
-- function may call it for every queue, and afterwards rights are looked up for each call.
CREATE DOMAIN slipring.right_producer AS boolean;
CREATE DOMAIN slipring.right_consumer AS boolean;
CREATE DOMAIN slipring.right_admin AS boolean;
