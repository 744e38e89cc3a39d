-- Purpose: the next ticket of a pop, from a table's automatic number, which begins with 1 while
--          tickets begin with 0. The row is of no use afterwards.
-- Inputs: none.
-- Lock: that of the table in memory.
-- Index: the primary key.
CREATE OR REPLACE FUNCTION pop_ticket() RETURNS BIGINT NOT DETERMINISTIC MODIFIES SQL DATA
BEGIN
    INSERT INTO pop_identity VALUES (NULL);
    RETURN LAST_INSERT_ID() - 1;
END
