-- Purpose: the statement that finds rows of a message table which can be no messages, for
--          aside_messages.
-- Inputs:  none; the statement has a place for the table, and takes the lane, the numbers after and
--          up to which it looks, and those that are ready or leased.
-- Lock:    none.
-- Index:   the table's order index, a range; item_picture_N_newest for each message in it.
CREATE OR REPLACE FUNCTION slipring.aside_messages_sql()
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT 'SELECT m.place, m.id, m.size AS n, m.bytes, m.why, m.kept FROM (
            SELECT m.ctid AS place, m.id, m.bytes, coalesce(m.n, 1)::int AS size, to_jsonb(m) AS kept,
                coalesce(slipring.message_fault(m.n, m.bytes, m.sent_ms, m.priority, m.lease_ms,
                    m.headers, m.body), CASE WHEN EXISTS (
                        SELECT FROM slipring.item_picture p
                        WHERE p.id > m.id - coalesce(m.n, 1) AND p.id <= m.id AND p.id <@ $4)
                    THEN ''its number is another message''''s, too'' END) AS why
            FROM %s m
            WHERE m.lane = $1 AND m.id > $2 AND m.id <= $3
                AND $4 && int8range(m.id - {{PACK_REACH}}, m.id + 1) OFFSET 0) m
        WHERE m.why IS NOT NULL AND (m.size NOT BETWEEN 1 AND {{PACK_MESSAGES_MAX}}
            OR $4 && int8range(m.id - m.size + 1, m.id + 1))'
$$;
