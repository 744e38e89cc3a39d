-- Purpose: groups of FIFO queues stand in a line; a purge ends deduplication windows by a mark.
--
-- The column `attempts` of the table `item` has, from here on, in its upper 32 bits how often a
-- message was delivered in the queues it was dead-lettered from. A column of its own would stand
-- behind the body: to read it, all pages of a large body would be read.

-- The groups of FIFO queues that have messages which are not parked. served is the stamp of the
-- moment at which a receive last took from the group, 0 before the first. Of a group that may give
-- something, head_id is the message that it gives next, and turn its place in the line: the later
-- of served and the stamp of that message.
CREATE TABLE fifo_group_new (
    group_id INTEGER PRIMARY KEY,
    queue_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    served INTEGER NOT NULL DEFAULT 0,
    turn INTEGER,
    head_id INTEGER
) STRICT;
INSERT INTO fifo_group_new (group_id, queue_id, name, turn, head_id)
SELECT g.group_id, g.queue_id, g.name, CASE WHEN i.state = 1 THEN i.sent END,
    CASE WHEN i.state = 1 THEN i.id END
FROM fifo_group AS g
JOIN item AS i ON i.id = (
    SELECT id FROM item
    WHERE fifo_group_id IS NOT NULL AND fifo_group_id = g.group_id
    ORDER BY sent, id
    LIMIT 1
);
DROP TABLE fifo_group;
ALTER TABLE fifo_group_new RENAME TO fifo_group;
CREATE UNIQUE INDEX fifo_group_name ON fifo_group (queue_id, name);
CREATE INDEX fifo_group_line ON fifo_group (queue_id, turn) WHERE turn IS NOT NULL;

-- The stamp of the message that was sent first with an id; 0 for those from before this step.
ALTER TABLE dedup ADD COLUMN sent INTEGER NOT NULL DEFAULT 0;

-- Deduplication ids of messages with a stamp before this are forgotten.
ALTER TABLE queue ADD COLUMN ids_from INTEGER NOT NULL DEFAULT 0;
