-- Purpose: :backlog messages to begin with.
-- Inputs: none; the number is written into the text.
-- Lock: of the new rows.
-- Index: the primary key.
INSERT INTO ring (message_id, sent_at, message)
SELECT ticket, now(), lpad(ticket::text, 20, '0') || repeat('.', 280)
FROM generate_series(0, :backlog - 1) AS ticket
