-- Purpose: the tickets of a pop; the server takes :cache at a time.
-- Inputs: none; the size of the cache is written into the text.
-- Lock: none.
-- Index: none.
CREATE SEQUENCE pop_sequence START WITH 0 MINVALUE 0 CACHE :cache NOCYCLE
