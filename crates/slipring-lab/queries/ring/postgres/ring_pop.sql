-- Purpose: a pop: the next slot, emptied when it has a message. A pop whose slot has none keeps its
--          ticket and comes again with it.
-- Inputs: the ticket of a pop that comes again or null.
-- Lock: the row of the slot.
-- Index: the primary key.
CREATE FUNCTION pop(again bigint, OUT ticket bigint, OUT body text)
LANGUAGE plpgsql AS $$
DECLARE
    place bigint;
BEGIN
    ticket := coalesce(again, pop_ticket());
    place := slot_of(ticket);
    UPDATE ring
    SET message_id = NULL, reference_count = 0, lap = lap + 1
    WHERE slot = place AND reference_count > 0 AND lap = ticket / :slots
    RETURNING message INTO body;
END
$$
