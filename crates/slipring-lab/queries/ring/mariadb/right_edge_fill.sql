-- Purpose: :backlog messages to begin with.
-- Inputs: none; the number is written into the text.
-- Lock: of the new rows.
-- Index: the primary key.
INSERT INTO ring (message_id, sent_at, message)
SELECT seq, NOW(6), CONCAT(LPAD(seq, 20, '0'), REPEAT('.', 280))
FROM seq_0_to_:last_of_backlog
