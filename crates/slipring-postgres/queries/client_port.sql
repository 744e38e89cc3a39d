-- Purpose: the port of the client's end of the connection as the server sees it; null where it
--   came by a socket of the file system
-- Inputs: none
-- Lock: none
-- Index: none
SELECT inet_client_port()
