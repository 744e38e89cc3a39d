-- Purpose: makes :slots slots in the order of their keys; the first :backlog tickets have a message.
-- Inputs: none; the numbers are written into the text.
-- Lock: of the new rows.
-- Index: the primary key.
INSERT INTO ring
SELECT slot_of(seq), 0, IF(seq < :backlog, seq, NULL), NOW(6),
    CONCAT(LPAD(seq, 20, '0'), REPEAT('.', 280)), seq < :backlog
FROM seq_0_to_:last
ORDER BY 1
