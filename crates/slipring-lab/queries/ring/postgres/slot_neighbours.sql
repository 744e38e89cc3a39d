-- Purpose: where a ticket's slot is: the next ticket's is its neighbour.
-- Inputs: the ticket; the number of slots is written into the text.
-- Lock: none.
-- Index: none.
CREATE FUNCTION slot_of(ticket bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE AS 'SELECT ticket % :slots'
