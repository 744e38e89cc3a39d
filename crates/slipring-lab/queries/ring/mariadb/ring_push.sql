-- Purpose: a push: the next slot, filled when it is free. A push whose slot is not free keeps its
--          ticket and comes again with it.
-- Inputs: the number of the message, the message, the ticket of a push that comes again or null.
-- Lock: the row of the slot.
-- Index: the primary key.
CREATE PROCEDURE push(number BIGINT, body VARCHAR(300) CHARACTER SET ascii, again BIGINT)
BEGIN
    DECLARE ticket BIGINT DEFAULT again;
    DECLARE place BIGINT;
    DECLARE done INT;
    IF ticket IS NULL THEN
        SET ticket = push_ticket();
    END IF;
    SET place = slot_of(ticket);
    UPDATE ring
    SET message_id = number, sent_at = NOW(6), message = body, reference_count = 1
    WHERE slot = place AND reference_count = 0 AND lap = ticket DIV :slots;
    SET done = ROW_COUNT();
    SELECT ticket, done;
END
