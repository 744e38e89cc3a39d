-- Purpose: makes :slots slots in the order of their keys; the first :backlog tickets have a message.
-- Inputs: none; both numbers are written into the text.
-- Lock: of the new rows.
-- Index: none yet.
INSERT INTO ring
SELECT slot_of(ticket), 0, CASE WHEN ticket < :backlog THEN ticket END, now(),
    lpad(ticket::text, 20, '0') || repeat('.', 280), (ticket < :backlog)::int
FROM generate_series(0, :slots - 1) AS ticket
ORDER BY 1
