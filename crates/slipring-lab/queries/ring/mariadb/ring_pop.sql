-- Purpose: a pop: the next slot, emptied when it has a message. A pop whose slot has none keeps its
--          ticket and comes again with it.
-- Inputs: the ticket of a pop that comes again or null.
-- Lock: the row of the slot.
-- Index: the primary key.
CREATE PROCEDURE pop(again BIGINT)
BEGIN
    DECLARE ticket BIGINT DEFAULT again;
    DECLARE place BIGINT;
    DECLARE body VARCHAR(300) CHARACTER SET ascii;
    IF ticket IS NULL THEN
        SET ticket = pop_ticket();
    END IF;
    SET place = slot_of(ticket);
    START TRANSACTION;
    UPDATE ring
    SET message_id = NULL, reference_count = 0, lap = lap + 1
    WHERE slot = place AND reference_count > 0 AND lap = ticket DIV :slots;
    IF ROW_COUNT() > 0 THEN
        SELECT message INTO body FROM ring WHERE slot = place;
    END IF;
    COMMIT;
    SELECT ticket, body;
END
