-- The schema that the migrations make; written by the test `schema`.

CREATE TABLE store (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    receipt_key BLOB NOT NULL CHECK (length(receipt_key) = 32),
    next_queue INTEGER NOT NULL,
    next_lane INTEGER NOT NULL,
    last_sent INTEGER NOT NULL
, queue_changes INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE TABLE queue (
    queue_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    settings TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    modified_ms INTEGER NOT NULL,
    fifo INTEGER NOT NULL,
    paused INTEGER NOT NULL,
    paused_until_ms INTEGER,
    retention_ms INTEGER,
    deleted INTEGER NOT NULL DEFAULT 0
, ids_from INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE UNIQUE INDEX queue_name ON queue (name) WHERE deleted = 0;

CREATE INDEX queue_deleted ON queue (queue_id) WHERE deleted = 1;

CREATE INDEX queue_pause ON queue (paused_until_ms) WHERE paused_until_ms IS NOT NULL;

CREATE INDEX queue_retention ON queue (queue_id) WHERE retention_ms IS NOT NULL;

CREATE TABLE item_count (
    queue_id INTEGER PRIMARY KEY,
    ready INTEGER NOT NULL,
    urgent INTEGER NOT NULL,
    delayed INTEGER NOT NULL,
    leased INTEGER NOT NULL,
    parked INTEGER NOT NULL,
    bytes INTEGER NOT NULL
, passed_over INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE TABLE lane (
    lane_id INTEGER PRIMARY KEY,
    queue_id INTEGER NOT NULL,
    priority INTEGER,
    tail_seq INTEGER NOT NULL,
    tail_bytes INTEGER NOT NULL,
    cursor_seq INTEGER NOT NULL,
    cursor_bytes INTEGER NOT NULL,
    holes INTEGER NOT NULL,
    hole_bytes INTEGER NOT NULL,
    leased INTEGER NOT NULL,
    leased_bytes INTEGER NOT NULL
) STRICT;

CREATE INDEX lane_queue ON lane (queue_id, priority);

CREATE TABLE message (
    position INTEGER PRIMARY KEY,
    sent INTEGER NOT NULL,
    bytes_sum INTEGER NOT NULL,
    extra_bytes INTEGER,
    lease_ms INTEGER,
    group_name TEXT,
    dedup_id TEXT,
    headers TEXT,
    body BLOB NOT NULL
) STRICT;

CREATE TABLE lease (
    first_position INTEGER PRIMARY KEY,
    last_position INTEGER NOT NULL,
    leased_ms INTEGER NOT NULL,
    deadline_ms INTEGER NOT NULL,
    session INTEGER NOT NULL
) STRICT;

CREATE TABLE item (
    id INTEGER PRIMARY KEY,
    queue_id INTEGER NOT NULL,
    state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 3),
    turn INTEGER NOT NULL,
    sent INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    first_received_ms INTEGER,
    delay_ms INTEGER NOT NULL,
    lease_ms INTEGER,
    session INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    fifo_group_id INTEGER,
    source TEXT,
    group_name TEXT,
    dedup_id TEXT,
    headers TEXT,
    body BLOB NOT NULL
, due_ms INTEGER, failures TEXT) STRICT;

CREATE INDEX item_order ON item (queue_id, state, turn, sent);

CREATE INDEX item_sent ON item (queue_id, sent);

CREATE INDEX item_session ON item (id) WHERE session = 1;

CREATE INDEX item_source ON item (queue_id, source, state, turn, sent) WHERE source IS NOT NULL;

CREATE INDEX item_fifo ON item (fifo_group_id, sent) WHERE fifo_group_id IS NOT NULL;

CREATE TABLE dedup (
    queue_id INTEGER NOT NULL,
    scope TEXT NOT NULL,
    dedup_id TEXT NOT NULL,
    message_id INTEGER NOT NULL,
    until_ms INTEGER NOT NULL, sent INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (queue_id, scope, dedup_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX dedup_until ON dedup (until_ms);

CREATE INDEX lease_deadline ON lease (first_position >> 32, deadline_ms);

CREATE TABLE probe (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    bytes BLOB NOT NULL
) STRICT;

CREATE TRIGGER queue_added AFTER INSERT ON queue BEGIN
    UPDATE store SET queue_changes = queue_changes + 1 WHERE id = 1;
END;

CREATE TRIGGER queue_changed AFTER UPDATE ON queue BEGIN
    UPDATE store SET queue_changes = queue_changes + 1 WHERE id = 1;
END;

CREATE TRIGGER queue_removed AFTER DELETE ON queue BEGIN
    UPDATE store SET queue_changes = queue_changes + 1 WHERE id = 1;
END;

CREATE TABLE "fifo_group" (
    group_id INTEGER PRIMARY KEY,
    queue_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    served INTEGER NOT NULL DEFAULT 0,
    turn INTEGER,
    head_id INTEGER
) STRICT;

CREATE UNIQUE INDEX fifo_group_name ON fifo_group (queue_id, name);

CREATE INDEX fifo_group_line ON fifo_group (queue_id, turn) WHERE turn IS NOT NULL;

CREATE TABLE load (
    load_id INTEGER PRIMARY KEY,
    queue_id INTEGER NOT NULL,
    state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 1),
    parts INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    begun_ms INTEGER NOT NULL,
    touched_ms INTEGER NOT NULL
) STRICT;

CREATE INDEX load_queue ON load (queue_id, state);

CREATE INDEX load_touched ON load (touched_ms);

CREATE TABLE load_part (
    load_id INTEGER NOT NULL,
    part INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (load_id, part)
) STRICT, WITHOUT ROWID;
