-- Purpose: whether the queues of a work share one set of message tables, but for those that have grown since.
-- Inputs: none.
-- Lock: none.
-- Index: none; it reads all queues, after the measurement.
-- Answers: how many there are, how many were made with tables of their own, and in how many shared sets the
--   others are.
SELECT count(*), count(*) FILTER (WHERE q.lane_base = 0),
    count(DISTINCT q.place) FILTER (WHERE q.lane_base <> 0 AND NOT p.reserved)
FROM slipring.queue AS q JOIN slipring.place AS p ON p.place = q.place
WHERE q.name NOT LIKE 'other-%'
