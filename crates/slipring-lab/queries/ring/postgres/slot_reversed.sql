-- Purpose: where a ticket's slot is: the bits are reversed, so the next ticket's is far away.
-- Inputs: the ticket; the numbers of slots and of bits are written into the text.
-- Lock: none.
-- Index: none.
CREATE FUNCTION slot_of(ticket bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE AS
'SELECT reverse(((ticket % :slots)::bit(:bits))::text)::bit(:bits)::bigint'
