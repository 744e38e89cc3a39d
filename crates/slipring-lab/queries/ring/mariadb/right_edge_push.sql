-- Purpose: a push: a row at the right edge.
-- Inputs: the number of the message, the message; nothing comes again.
-- Lock: the new row.
-- Index: the primary key, at its last page.
CREATE PROCEDURE push(number BIGINT, body VARCHAR(300) CHARACTER SET ascii, again BIGINT)
BEGIN
    INSERT INTO ring (message_id, sent_at, message) VALUES (number, NOW(6), body);
    SELECT CAST(NULL AS SIGNED) AS ticket, 1 AS done;
END
