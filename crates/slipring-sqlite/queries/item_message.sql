-- Purpose: an item with its message
-- Inputs: ?1 id
-- Lock: none
-- Index: primary key of item
SELECT id, queue_id, state, coalesce(due_ms, turn), priority, attempts, fence, first_received_ms,
    delay_ms, lease_ms, session, bytes, fifo_group_id, source, sent, group_name, dedup_id, headers,
    body, failures
FROM item
WHERE id = ?1
