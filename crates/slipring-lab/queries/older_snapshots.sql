-- Purpose: whether a session of this server may still see what ended before a transaction
-- Inputs: $1 the number that the next transaction had then
-- Lock: none
-- Index: none
SELECT EXISTS (SELECT FROM pg_stat_activity a WHERE age(a.backend_xmin) > age($1::text::xid))
