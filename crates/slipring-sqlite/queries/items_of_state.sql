-- Purpose: the first items of a state, with their messages
-- Inputs: ?1 queue_id, ?2 state, ?3 the first turn, ?4 the last, ?5 at most so many
-- Lock: none
-- Index: item_order
SELECT id, queue_id, state, turn, priority, attempts, fence, first_received_ms, delay_ms, lease_ms,
    session, bytes, fifo_group_id, source, sent, group_name, dedup_id, headers, body, failures
FROM item
WHERE queue_id = ?1 AND state = ?2 AND turn BETWEEN ?3 AND ?4
ORDER BY turn, sent, id
LIMIT ?5
