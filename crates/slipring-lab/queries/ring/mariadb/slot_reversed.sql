-- Purpose: where a ticket's slot is: the bits are reversed, so the next ticket's is far away.
-- Inputs: the ticket; the numbers of slots and of bits are written into the text.
-- Lock: none.
-- Index: none.
CREATE FUNCTION slot_of(ticket BIGINT) RETURNS BIGINT DETERMINISTIC NO SQL
RETURN CONV(REVERSE(LPAD(BIN(ticket MOD :slots), :bits, '0')), 2, 10)
