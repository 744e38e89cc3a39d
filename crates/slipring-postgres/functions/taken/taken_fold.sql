-- Purpose: at the commit of a transaction that was handed messages without the queue's lock: writes
--          that into the queue's state, with what others have left, and offers messages to the next
--          receives, if nobody has the lock. Where it is taken, or the transaction is only prepared,
--          the next transaction with the lock writes it. Where the lock is taken, offer_beside offers messages.
-- Inputs:  the row of the lease.
-- Lock:    the queue's, which is only tried, for the rest of the commit.
-- Index:   see state_read, acks_take, state_write, offer_make.
CREATE OR REPLACE FUNCTION slipring.taken_fold()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, slipring, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_queue slipring.queue;
    v_state slipring.state;
    v_seq bigint;
    v_over int8multirange;
BEGIN
    -- One commit in eight does it, which does it for all: for each of them it costs a third of all. So does
    -- every commit with a large lease, and of one with several messages while the offers for such receives
    -- are half used up.
    IF hashint8(NEW.fence) & 7 <> 0 AND NEW.n < {{FOLD_MESSAGES}} AND (NEW.n < {{OFFER_PART_MIN}}
        OR NOT slipring.offer_over(NEW.queue_id, slipring.now_ms())) THEN
        RETURN NULL;
    END IF;
    -- The commit of a block or of a procedure, or a statement that is a transaction of its own: a lock that
    -- is taken earlier, because of SET CONSTRAINTS, would be held for as long as the transaction goes on, and
    -- that of a prepared one longer. Without a backslash: what that means is a setting of the caller.
    IF current_query() ~* 'prepare[[:space:]]+transaction|constraints' OR now() <> statement_timestamp()
        AND current_query() !~* '^[[:space:]]*(/[*].*[*]/[[:space:]]*)*(commit|end|call|do)([^a-z0-9_]|$)'
    THEN
        RETURN NULL;
    END IF;
    IF slipring.queue_free(NEW.queue_id) THEN
        v_queue := slipring.queue_lock(NEW.queue_id, false);
    END IF;
    IF v_queue.queue_id IS NULL THEN
        PERFORM slipring.offer_beside(NEW.queue_id, NEW.n, slipring.now_ms());
        RETURN NULL;
    END IF;
    v_over := slipring.cut(v_queue.xid_base);
    v_state := slipring.state_read(v_queue);
    IF NOT NEW.fence <@ v_state.taken THEN
        -- As few ranges as there are open transactions: what is over was read above.
        v_state.taken := v_state.taken - slipring.taken_fences(v_over);
        v_seq := v_state.seq;
        v_state := slipring.acks_take(v_queue, v_state, slipring.now_ms(), {{ACKS_STEP}});
        IF v_state.seq = v_seq THEN
            v_state.seq := v_state.seq + 1;
            PERFORM slipring.state_write(v_queue, v_state);
        END IF;
    END IF;
    PERFORM slipring.offer_make(v_queue, v_state, slipring.now_ms(), NEW.n);
    RETURN NULL;
EXCEPTION WHEN OTHERS THEN
    -- The caller's work does not fail for it: whoever has the lock next comes upon the same.
    RAISE WARNING 'hand-outs of queue % are left to others to note: %', NEW.queue_id, SQLERRM;
    RETURN NULL;
END $$;
