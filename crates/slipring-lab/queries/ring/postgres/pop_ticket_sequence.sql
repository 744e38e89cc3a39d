-- Purpose: the next ticket of a pop, from a sequence.
-- Inputs: none.
-- Lock: the page of the sequence, once for each cache.
-- Index: none.
CREATE OR REPLACE FUNCTION pop_ticket() RETURNS bigint
LANGUAGE sql VOLATILE AS $$SELECT nextval('pop_sequence')$$
