-- Purpose: groups of FIFO queues stand in a line; deliveries before a dead letter are kept; a purge
--          ends deduplication windows.
-- Inputs:  none. Groups get their places when a receive looks at them next.
-- Lock:    ACCESS EXCLUSIVE on the tables that it changes.
-- Index:   fifo_group_line and fifo_group_new instead of fifo_group_open, fifo_group_new and
--          item_blocking.

-- Deliveries in the queues that the message was dead-lettered from.
ALTER TABLE slipring.item_picture ADD COLUMN earlier bigint NOT NULL DEFAULT 0;

DROP VIEW slipring.item;
CREATE VIEW slipring.item AS
SELECT p.* FROM slipring.item_picture p
WHERE p.state < 4 AND p.seq = (
    SELECT n.seq FROM slipring.item_picture n WHERE n.id = p.id ORDER BY n.seq DESC LIMIT 1);

DROP INDEX slipring.item_blocking, slipring.fifo_group_open, slipring.fifo_group_new;
DROP VIEW slipring.fifo_group_newest;
TRUNCATE slipring.fifo_group;
ALTER TABLE slipring.fifo_group DROP COLUMN head_id;
-- When a receive last took from the group, as a number between those of the messages sent before
-- and after; 0 before the first.
ALTER TABLE slipring.fifo_group ADD COLUMN served bigint NOT NULL DEFAULT 0;
-- The place in the line of a group that may give something: the later of served and low_id, which
-- is then what it gives next. Null while it may give nothing.
ALTER TABLE slipring.fifo_group ADD COLUMN turn bigint;

CREATE INDEX fifo_group_line ON slipring.fifo_group (queue_id, turn) WHERE turn IS NOT NULL;
CREATE INDEX fifo_group_new ON slipring.fifo_group (queue_id, entry) WHERE turn IS NOT NULL;

CREATE VIEW slipring.fifo_group_newest AS
SELECT g.* FROM slipring.fifo_group g
WHERE g.seq = (SELECT n.seq FROM slipring.fifo_group n
    WHERE n.queue_id = g.queue_id AND n.name = g.name ORDER BY n.seq DESC LIMIT 1);

INSERT INTO slipring.fifo_touched (slot, queue_id, name, id, entry)
SELECT pg_sequence_last_value('slipring.shelf') % 3, i.queue_id, i.fifo_group, min(i.id),
    (pg_current_xact_id()::text::bigint + q.xid_base) << 18
FROM slipring.item i JOIN slipring.queue q ON q.queue_id = i.queue_id
WHERE i.fifo_group IS NOT NULL GROUP BY i.queue_id, i.fifo_group, q.xid_base;

-- When the message was sent that opened the window; 0 for those from before this step.
ALTER TABLE slipring.dedup ADD COLUMN sent_ms bigint NOT NULL DEFAULT 0;

-- Windows that a purge has ended: of messages with a number in ids_ended that were sent until
-- ids_until_ms.
ALTER TABLE slipring.queue ADD COLUMN ids_ended int8multirange;
ALTER TABLE slipring.queue ADD COLUMN ids_until_ms bigint;
