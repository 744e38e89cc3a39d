-- Purpose: the tickets of a push; the server takes :cache at a time.
-- Inputs: none; the size of the cache is written into the text.
-- Lock: none.
-- Index: none.
CREATE SEQUENCE push_sequence START WITH 0 MINVALUE 0 CACHE :cache NOCYCLE
