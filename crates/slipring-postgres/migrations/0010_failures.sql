-- Purpose: pictures keep the last failures of their message, where one of them has a reason.
-- Inputs:  none.
-- Lock:    ACCESS EXCLUSIVE on the tables of pictures, for a moment.
-- Index:   none.

-- A JSON array of at most five objects with attempt, at_ms, ended_by and, where there is one, reason;
-- null where none is kept.
ALTER TABLE slipring.item_picture ADD COLUMN failures jsonb;

-- With a message that is moved.
ALTER TYPE slipring.move ADD ATTRIBUTE failures jsonb;

CREATE OR REPLACE VIEW slipring.item AS
SELECT p.* FROM slipring.item_picture p
WHERE p.state < 4 AND p.seq = (
    SELECT n.seq FROM slipring.item_picture n WHERE n.id = p.id ORDER BY n.seq DESC LIMIT 1);

-- What is out of line is emptied with its table.
ALTER TABLE slipring.item_picture_0 SET (toast.autovacuum_enabled = false);
ALTER TABLE slipring.item_picture_1 SET (toast.autovacuum_enabled = false);
ALTER TABLE slipring.item_picture_2 SET (toast.autovacuum_enabled = false);
