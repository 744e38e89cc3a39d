-- Purpose: a pop: the first row that no other pop has locked.
-- Inputs: none that matters.
-- Lock: the row; rows that others have locked are passed over.
-- Index: the primary key, at its first pages.
CREATE PROCEDURE pop(again BIGINT)
BEGIN
    DECLARE place BIGINT;
    DECLARE body VARCHAR(300) CHARACTER SET ascii;
    START TRANSACTION;
    SELECT slot, message INTO place, body
    FROM ring ORDER BY slot LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF place IS NOT NULL THEN
        DELETE FROM ring WHERE slot = place;
    END IF;
    COMMIT;
    SELECT CAST(NULL AS SIGNED) AS ticket, body;
END
