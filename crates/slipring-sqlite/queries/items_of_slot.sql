-- Purpose: the items of a slot that are due first, with their messages
-- Inputs: ?1 queue_id, ?2 the turn of the slot, ?3 at most so many
-- Lock: none
-- Index: item_order; sorts the slot
SELECT id, queue_id, state, coalesce(due_ms, turn), priority, attempts, fence, first_received_ms,
    delay_ms, lease_ms, session, bytes, fifo_group_id, source, sent, group_name, dedup_id, headers,
    body, failures
FROM item
WHERE queue_id = ?1 AND state = 0 AND turn = ?2
ORDER BY coalesce(due_ms, turn), sent, id
LIMIT ?3
