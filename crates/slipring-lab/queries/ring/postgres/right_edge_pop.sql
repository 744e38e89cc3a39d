-- Purpose: a pop: the first row that no other pop has locked.
-- Inputs: none that matters.
-- Lock: the row; rows that others have locked are passed over.
-- Index: the primary key, at its first pages.
CREATE FUNCTION pop(again bigint, OUT ticket bigint, OUT body text)
LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM ring
    WHERE slot = (SELECT slot FROM ring ORDER BY slot LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING message INTO body;
END
$$
