-- Purpose: what is wrong with a row of the log.
-- Inputs:  columns of message.
-- Lock:    none.
-- Index:   none.
-- Answers: null when nothing is.
CREATE OR REPLACE FUNCTION slipring.message_fault(
    p_n int, p_bytes int, p_sent_ms bigint, p_priority bigint, p_lease_ms bigint,
    p_headers text, p_body bytea)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN p_n NOT BETWEEN 1 AND {{PACK_MESSAGES_MAX}} THEN format('a pack of %s messages', p_n)
        WHEN octet_length(p_body) < 2 * p_n THEN 'a pack that is too short'
        WHEN EXISTS (SELECT FROM generate_series(1, p_n) k
            WHERE slipring.pack_end(p_body, k) < slipring.pack_end(p_body, k - 1))
            OR slipring.pack_end(p_body, p_n) <> octet_length(p_body) - 2 * p_n
            THEN 'a pack whose messages do not end where it says'
        WHEN p_bytes < 0 THEN format('%s bytes', p_bytes)
        WHEN p_sent_ms NOT BETWEEN 0 AND {{MOMENT_MS_MAX}} THEN format('sent at %s ms', p_sent_ms)
        WHEN p_priority NOT BETWEEN 0 AND {{PRIORITY_MAX}} THEN format('the priority %s', p_priority)
        WHEN p_lease_ms NOT BETWEEN 0 AND {{DURATION_MS_MAX}} THEN format('a lease of %s ms', p_lease_ms)
        WHEN p_headers IS NOT NULL AND NOT slipring.headers_whole(p_headers)
            THEN 'headers that are no JSON object of texts' END
$$;
