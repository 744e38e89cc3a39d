-- Purpose: the next ticket of a push, from a sequence.
-- Inputs: none.
-- Lock: that of the sequence.
-- Index: none.
CREATE OR REPLACE FUNCTION push_ticket() RETURNS BIGINT NOT DETERMINISTIC MODIFIES SQL DATA
RETURN NEXTVAL(push_sequence)
