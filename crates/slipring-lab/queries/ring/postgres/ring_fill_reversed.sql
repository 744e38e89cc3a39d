-- Purpose: makes :slots slots in the order of their keys; the ticket is the slot with its bits reversed.
--          The first :backlog tickets have a message.
-- Inputs: none; the numbers are written into the text.
-- Lock: of the new rows.
-- Index: none yet.
INSERT INTO ring
SELECT slot, 0, CASE WHEN ticket < :backlog THEN ticket END, now(),
    lpad(ticket::text, 20, '0') || repeat('.', 280), (ticket < :backlog)::int
FROM (
    SELECT slot, reverse(slot::bit(:bits)::text)::bit(:bits)::bigint AS ticket
    FROM generate_series(0::bigint, :keys - 1) AS slot
) AS made
WHERE ticket < :slots
