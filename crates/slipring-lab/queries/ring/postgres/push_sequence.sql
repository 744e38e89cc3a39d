-- Purpose: the tickets of a push; each session takes :cache at a time.
-- Inputs: none; the size of the cache is written into the text.
-- Lock: none.
-- Index: none.
CREATE SEQUENCE push_sequence MINVALUE 0 CACHE :cache
