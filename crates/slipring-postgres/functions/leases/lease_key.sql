-- Purpose: the number of the advisory lock of a message's lease. A user's transaction that acks some
--          messages of a lease holds it shared. A nack or a lapse needs it exclusively,
--          see lease_free. The messages of a lease
--          have 64 locks between them, so that an ack of a thousand takes few and an ack of one
--          does not stand in the way of most others: of messages of one transaction, which are numbered
--          in a row, and of those that were sent one by one, whose numbers differ in their upper bits only.
-- Inputs:  p_lock_key, the queue's secret, without which the number cannot be computed; p_fence,
--          p_message.
-- Lock:    none; it names one.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.lease_key(p_lock_key bigint, p_fence bigint, p_message bigint)
RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT hashint8extended(p_fence, p_lock_key) & ~63::bigint | ((p_message # (p_message >> {{XID_SHIFT}})) & 63)
$$;
