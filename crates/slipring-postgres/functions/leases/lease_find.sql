-- Purpose: finds the lease of each of several messages that are leased from the log. Ranges of leases and
--          messages are sorted together and walked once, so the time is that of a sort.
-- Inputs:  p_queue; p_messages with p_fences, entry by entry.
-- Lock:    the caller holds the queue's lock where it will write.
-- Index:   lease_newest, a few steps for each fence.
-- Answers: every entry, n being its place; part, lane and what follows are null where no lease of the log
--          holds it.
CREATE OR REPLACE FUNCTION slipring.lease_find(
    p_queue int, p_messages bigint[], p_fences bigint[])
RETURNS TABLE (n int, message bigint, fence bigint, part bigint, lane bigint, deadline_ms bigint,
    leased_ms bigint) LANGUAGE sql STABLE AS $$
    SELECT e.n, e.at, e.fence, CASE WHEN e.at < e.past THEN e.part END,
        CASE WHEN e.at < e.past THEN e.lane END, CASE WHEN e.at < e.past THEN e.deadline_ms END,
        CASE WHEN e.at < e.past THEN e.leased_ms END
    FROM (
        -- The first of each run is the last range that begins at or before the messages of the run.
        SELECT r.n, r.at, r.fence, first_value(r.past) OVER w AS past,
            first_value(r.part) OVER w AS part, first_value(r.lane) OVER w AS lane,
            first_value(r.deadline_ms) OVER w AS deadline_ms,
            first_value(r.leased_ms) OVER w AS leased_ms
        FROM (
            SELECT r.*, count(r.past)
                OVER (PARTITION BY r.fence ORDER BY r.at, r.n NULLS FIRST) AS run
            FROM (
                SELECT l.fence, lower(o) AS at, NULL::int AS n, upper(o) AS past, l.part, l.lane,
                    l.deadline_ms, l.leased_ms
                FROM slipring.lease_newest(p_queue, p_fences) l
                CROSS JOIN LATERAL unnest(l.open * int8multirange(int8range(
                    (SELECT min(m) FROM unnest(p_messages) m),
                    (SELECT max(m) FROM unnest(p_messages) m), '[]'))) o
                WHERE l.n > 0
                UNION ALL
                SELECT u.fence, u.message, u.n::int, NULL, NULL, NULL, NULL, NULL
                FROM unnest(p_messages, p_fences) WITH ORDINALITY AS u(message, fence, n)) r) r
        WINDOW w AS (PARTITION BY r.fence, r.run ORDER BY r.at, r.n NULLS FIRST)) e
    WHERE e.n IS NOT NULL
$$;
