-- Purpose: makes :slots slots in the order of their keys; the ticket is the slot.
--          The first :backlog tickets have a message.
-- Inputs: none; the numbers are written into the text.
-- Lock: of the new rows.
-- Index: the primary key.
INSERT INTO ring
SELECT slot, 0, IF(ticket < :backlog, ticket, NULL), NOW(6),
    CONCAT(LPAD(ticket, 20, '0'), REPEAT('.', 280)), ticket < :backlog
FROM (
    SELECT seq AS slot, CAST(seq AS SIGNED) AS ticket FROM seq_0_to_:last
) AS made
WHERE ticket < :slots
