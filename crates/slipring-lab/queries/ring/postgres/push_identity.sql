-- Purpose: the table whose identity gives the tickets of a push; it survives no crash.
-- Inputs: none.
-- Lock: of a new table.
-- Index: none.
CREATE UNLOGGED TABLE push_identity (
    ticket bigint GENERATED ALWAYS AS IDENTITY (MINVALUE 0)
)
