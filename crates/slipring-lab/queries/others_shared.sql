-- Purpose: whether the queues of a work share one set of message tables.
-- Inputs: none.
-- Lock: none.
-- Index: none; it reads all queues, after the measurement.
-- Answers: how many have tables of their own, and in how many sets the others are.
SELECT count(*) FILTER (WHERE lane_base = 0), count(DISTINCT place) FILTER (WHERE lane_base <> 0)
FROM slipring.queue WHERE name NOT LIKE 'other-%'
