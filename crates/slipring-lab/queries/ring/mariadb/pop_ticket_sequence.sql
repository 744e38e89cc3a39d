-- Purpose: the next ticket of a pop, from a sequence.
-- Inputs: none.
-- Lock: that of the sequence.
-- Index: none.
CREATE OR REPLACE FUNCTION pop_ticket() RETURNS BIGINT NOT DETERMINISTIC MODIFIES SQL DATA
RETURN NEXTVAL(pop_sequence)
