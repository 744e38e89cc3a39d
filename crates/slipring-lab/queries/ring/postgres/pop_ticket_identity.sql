-- Purpose: the next ticket of a pop, from an identity.
-- Inputs: none.
-- Lock: the new row.
-- Index: none.
CREATE OR REPLACE FUNCTION pop_ticket() RETURNS bigint
LANGUAGE sql VOLATILE AS 'INSERT INTO pop_identity DEFAULT VALUES RETURNING ticket'
