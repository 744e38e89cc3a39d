-- Purpose: makes items of the messages between two positions
-- Inputs: ?1 first position, ?2 last position, ?3 queue_id, ?4 state, ?5 turn, ?6 priority, ?7
--   attempts, ?8 fence, ?9 first_received_ms, ?10 delay_ms, ?11 session, ?12 fifo_group_id, ?13
--   source
-- Lock: the write lock, held by the transaction
-- Index: primary keys of message and item
INSERT INTO item (id, queue_id, state, turn, sent, priority, attempts, fence, first_received_ms,
    delay_ms, lease_ms, session, bytes, fifo_group_id, source, group_name, dedup_id, headers, body)
SELECT position, ?3, ?4, ?5, sent, ?6, ?7, ?8, ?9, ?10, lease_ms, ?11,
    length(body) + coalesce(extra_bytes, 0), ?12, ?13, group_name, dedup_id, headers, body
FROM message
WHERE position BETWEEN ?1 AND ?2
