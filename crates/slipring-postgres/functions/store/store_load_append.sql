-- Purpose: appends a part to a load, whole or not at all. The commit does not wait for its flush:
--          a part that is lost with the server is missed when the load is published.
-- Inputs:  p_load, p_part, p_checksum, p_now_ms; the arrays as store_append, p_groups and p_headers
--          null where no message has any; p_sizes, the bytes of each message, or in one entry of
--          all where p_priorities has one; p_count, how many there are; p_largest, the bytes of the
--          largest, and p_largest_at, its place from 0.
-- Lock:    as load_append_rows.
-- Index:   as load_append_rows.
-- Answers: whether it was not there.
CREATE OR REPLACE FUNCTION slipring.store_load_append(
    p_load bigint, p_part bigint, p_checksum bigint, p_now_ms bigint, p_bodies bytea[],
    p_priorities bigint[], p_leases_ms bigint[], p_groups text[], p_headers text[], p_ns int[],
    p_eachs_bytes int[], p_sizes bigint[], p_count int, p_largest bigint, p_largest_at int)
RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog, slipring, pg_temp AS $$
BEGIN
    PERFORM slipring.commit_mode(true);
    RETURN slipring.load_append_rows(p_load, p_part, p_checksum, p_now_ms, p_bodies, p_priorities,
        p_leases_ms, p_groups, p_headers, p_ns, p_eachs_bytes, p_sizes, p_count, p_largest,
        p_largest_at);
END $$;
