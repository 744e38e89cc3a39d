-- Purpose: queues whose delays or leases have ended and were not seen to since, of the first ones that have any moment to
--   come
-- Inputs: $1 the moment in ms by which it should have been done, $2 how many queues to look at
-- Lock: none
-- Index: see functions/store/store_deadlines.sql; queue_pkey
SELECT q.name, $1 - least(d.due_ms, d.lapse_ms) AS late_ms
FROM slipring.store_deadlines(0, $2) AS d JOIN slipring.queue AS q ON q.queue_id = d.queue
WHERE least(d.due_ms, d.lapse_ms) <= $1
ORDER BY late_ms DESC
LIMIT 100
