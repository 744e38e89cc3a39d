-- Purpose: a push: the next slot, filled when it is free. A push whose slot is not free keeps its
--          ticket and comes again with it.
-- Inputs: the number of the message, the message, the ticket of a push that comes again or null.
-- Lock: the row of the slot.
-- Index: the primary key.
CREATE FUNCTION push(number bigint, body text, again bigint, OUT ticket bigint, OUT done boolean)
LANGUAGE plpgsql AS $$
DECLARE
    place bigint;
BEGIN
    ticket := coalesce(again, push_ticket());
    place := slot_of(ticket);
    UPDATE ring
    SET message_id = number, sent_at = now(), message = body, reference_count = 1
    WHERE slot = place AND reference_count = 0 AND lap = ticket / :slots;
    done := FOUND;
END
$$
