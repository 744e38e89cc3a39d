-- Purpose: the next ticket of a push, from an identity.
-- Inputs: none.
-- Lock: the new row.
-- Index: none.
CREATE OR REPLACE FUNCTION push_ticket() RETURNS bigint
LANGUAGE sql VOLATILE AS 'INSERT INTO push_identity DEFAULT VALUES RETURNING ticket'
