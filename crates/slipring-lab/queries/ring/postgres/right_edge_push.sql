-- Purpose: a push: a row at the right edge.
-- Inputs: the number of the message, the message; nothing comes again.
-- Lock: the new row.
-- Index: the primary key, at its last page.
CREATE FUNCTION push(number bigint, body text, again bigint, OUT ticket bigint, OUT done boolean)
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO ring (message_id, sent_at, message) VALUES (number, now(), body);
    done := true;
END
$$
