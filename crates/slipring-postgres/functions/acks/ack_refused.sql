-- Purpose: raises the error for an ack whose lease is not there any more, or is not there yet.
-- Inputs:  p_queue, p_message; p_fence of the receipt.
-- Lock:    none.
-- Index:   item_picture_N_newest; see log_holds.
CREATE OR REPLACE FUNCTION slipring.ack_refused(
    p_queue slipring.queue, p_message bigint, p_fence bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    -- Who asks may be the last one that it was handed to: in a FIFO queue its deadline has passed.
    v_why text := (SELECT CASE WHEN i.state <> 2 THEN 'ended' WHEN i.fence = p_fence THEN 'late'
            ELSE 'newer' END
        FROM slipring.item_now(p_message) i WHERE i.queue_id = p_queue.queue_id);
BEGIN
    -- A hand-out that the snapshot does not have says nothing of a lease that is lost. A fence has the number
    -- of its transaction, or the time when a server had it.
    IF NOT slipring.read_committed()
        AND (CASE WHEN p_fence < 0 THEN NOT pg_visible_in_snapshot((((p_fence + {{BIGINT_MAX}} + 1)
                >> {{XID_SHIFT}}) - p_queue.xid_base)::text::xid8, pg_current_snapshot())
            ELSE p_fence >> {{FENCE_SHIFT}}
                >= extract(epoch FROM transaction_timestamp()) * 1000 - 1 END)
    THEN
        RAISE EXCEPTION USING ERRCODE = '40001', MESSAGE =
            'the hand-out is newer than the snapshot of the transaction; try again in a new transaction';
    END IF;
    IF v_why = 'late' AND NOT slipring.read_committed() THEN
        RAISE EXCEPTION USING ERRCODE = '40001', MESSAGE = 'the deadline of the lease has passed in the '
            'snapshot of the transaction, and it may have been extended since; try again in a new transaction';
    END IF;
    IF v_why IS NULL AND slipring.log_holds(p_queue, p_message, p_fence) THEN
        v_why := 'undone';
    END IF;
    IF v_why IS NOT NULL THEN
        PERFORM slipring.fail('SR004', slipring.lease_lost(v_why),
            jsonb_build_object('message', p_message, 'queue', p_queue.name));
    END IF;
    PERFORM slipring.message_gone(p_message, p_queue.name);
END $$;
