-- Purpose: the items of a state after one of them up to a turn, in order
-- Inputs: ?1 queue_id, ?2 state, ?3 turn, ?4 sent, ?5 id, ?6 the last turn, ?7 at most so many
-- Lock: none
-- Index: item_order
SELECT turn, sent, id, attempts & 4294967295
FROM item
WHERE queue_id = ?1 AND state = ?2 AND (turn, sent, id) > (?3, ?4, ?5) AND turn <= ?6
ORDER BY turn, sent, id
LIMIT ?7
