-- Purpose: the text of the error for a receipt that no longer holds its message.
-- Inputs:  p_why: newer, another hand-out is the newest; late, this one is, but its deadline has
--          passed; ended, nobody holds the message; acked, by a transaction that is open; undone,
--          the log does not know the hand-out.
-- Lock:    none.
-- Index:   none.
-- Answers: null for anything else.
CREATE OR REPLACE FUNCTION slipring.lease_lost(p_why text)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT 'the receipt no longer holds the message: ' || CASE p_why
        WHEN 'newer' THEN 'another hand-out is newer'
        WHEN 'late' THEN 'its deadline has passed'
        WHEN 'ended' THEN 'it was given back before, or its deadline had passed'
        WHEN 'acked' THEN 'a transaction that is still open has acked it, or so many messages of the queue that it has no lock for each'
        WHEN 'undone' THEN 'another hand-out is newer, or a crash has undone this one' END
$$;
