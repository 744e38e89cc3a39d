-- Purpose: what decides what happens to an item
-- Inputs: ?1 id
-- Lock: none
-- Index: primary key of item
SELECT id, queue_id, state, coalesce(due_ms, turn), priority, attempts, fence, first_received_ms,
    delay_ms, lease_ms, session, bytes, fifo_group_id, source, typeof(failures) <> 'null'
FROM item
WHERE id = ?1
