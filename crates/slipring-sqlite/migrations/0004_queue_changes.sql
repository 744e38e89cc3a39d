-- Purpose: a number that moves when the list of queues or the settings of one change, whoever
--          changes them, so that nobody reads the list for nothing.

ALTER TABLE store ADD COLUMN queue_changes INTEGER NOT NULL DEFAULT 0;

CREATE TRIGGER queue_added AFTER INSERT ON queue BEGIN
    UPDATE store SET queue_changes = queue_changes + 1 WHERE id = 1;
END;

CREATE TRIGGER queue_changed AFTER UPDATE ON queue BEGIN
    UPDATE store SET queue_changes = queue_changes + 1 WHERE id = 1;
END;

CREATE TRIGGER queue_removed AFTER DELETE ON queue BEGIN
    UPDATE store SET queue_changes = queue_changes + 1 WHERE id = 1;
END;
