-- Purpose: the messages of a lane after a position
-- Inputs: ?1 after this position, ?2 up to this position, ?3 at most so many
-- Lock: none
-- Index: primary key of message
SELECT position, sent, bytes_sum, extra_bytes, lease_ms, group_name, dedup_id, headers, body
FROM message
WHERE position > ?1 AND position <= ?2
ORDER BY position
LIMIT ?3
