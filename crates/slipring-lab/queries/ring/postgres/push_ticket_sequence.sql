-- Purpose: the next ticket of a push, from a sequence.
-- Inputs: none.
-- Lock: the page of the sequence, once for each cache.
-- Index: none.
CREATE OR REPLACE FUNCTION push_ticket() RETURNS bigint
LANGUAGE sql VOLATILE AS $$SELECT nextval('push_sequence')$$
