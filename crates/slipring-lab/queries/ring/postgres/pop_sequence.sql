-- Purpose: the tickets of a pop; each session takes :cache at a time.
-- Inputs: none; the size of the cache is written into the text.
-- Lock: none.
-- Index: none.
CREATE SEQUENCE pop_sequence MINVALUE 0 CACHE :cache
