-- Purpose: tells the server from the one it was before a standby took over, which may have given
--          numbers that are given again: the last three bits of the timeline, which each promotion
--          moves on. It is read from a name of a file of the WAL, which is up to date at once.
-- Inputs:  none.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.timeline()
RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint & 7
$$;
