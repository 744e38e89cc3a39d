-- Purpose: which leases an ack inside a user's transaction takes all of, so that one row is enough;
--          and sees to it that what this transaction enters meets what others enter for the same
--          lease, be it rows of messages or of all of it.
-- Inputs:  p_queue; p_messages with p_fences.
-- Lock:    the leases' locks for acks, in the order of their numbers, to the end of the
--          transaction: shared for acks of messages, exclusive for those of all a lease has. Only
--          who acks the same message at the same time waits for that one. None for a lease that a
--          receive by SQL made of one message.
-- Index:   lease_newest, one step more in each slot; ack_N_once, one step in each slot.
-- Answers: a row for each such lease: its fence, and the messages.
CREATE OR REPLACE FUNCTION slipring.ack_whole(
    p_queue slipring.queue, p_messages bigint[], p_fences bigint[])
RETURNS TABLE (fence bigint, ids int8multirange) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_fences bigint[] := '{}';
    v_committed boolean := slipring.read_committed();
BEGIN
    -- An older snapshot cannot tell whether others have acked messages of the lease since.
    IF cardinality(p_messages) > 1 AND v_committed THEN
        v_fences := ARRAY(SELECT o.fence
            FROM slipring.ack_whole_open(p_queue.queue_id, p_messages, p_fences) o);
    END IF;
    PERFORM CASE WHEN k.whole THEN pg_advisory_xact_lock(k.key)
        ELSE pg_advisory_xact_lock_shared(k.key) END
    FROM (SELECT slipring.ack_key(p_queue.lock_key, f) AS key, f = ANY (v_fences) AS whole
          FROM (SELECT DISTINCT f FROM unnest(p_fences) f) f
          -- No ack can be of more than one message of such a lease.
          WHERE NOT EXISTS (SELECT FROM lease l WHERE l.queue_id = p_queue.queue_id
              AND l.fence = f AND l.part = 0 AND l.seq = 0 AND l.n = 1 OFFSET 0)
          ORDER BY key) k;
    IF v_fences <> '{}' THEN
        -- Once more, now that nobody else can change the answer.
        RETURN QUERY SELECT o.fence, o.ids
        FROM slipring.ack_whole_open(p_queue.queue_id, p_messages, p_fences) o
        WHERE o.fence = ANY (v_fences);
    END IF;
END $$;
