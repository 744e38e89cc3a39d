-- Purpose: whether this transaction may make the queue's next offer. An offer cannot be seen before its commit has
--          ended; a second one made meanwhile would list the same messages, which its receives would find taken.
-- Inputs:  p_queue; p_n, how many messages a receive of those for which it is has been handed; p_now_ms.
-- Lock:    one for this alone, advisory, which is only tried, to the end of the transaction. Its key changes with
--          the time: who sees it in pg_locks and takes it stops offers for OFFER_MS.
-- Index:   none. Volatile like what it calls, so that it is inlined.
CREATE OR REPLACE FUNCTION slipring.offer_turn(
    p_queue slipring.queue, p_n bigint, p_now_ms bigint)
RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT pg_try_advisory_xact_lock(hashint8extended(p_now_ms / {{OFFER_MS}},
        p_queue.lock_key # (CASE WHEN p_n > 1 THEN 3 ELSE 2 END)))
$$;
