-- Purpose: deletes a queue with all that is in it. Its tables are emptied by the next
--          step of store_rotate that may.
-- Inputs:  p_queue.
-- Lock:    the lock of administration, then the queue's lock and its row. The last two are waited for 50 ms at
--          most, so a waiting deletion delays creations by no more than that. It does not hold the queue's lock
--          while it waits for administration: a transaction that has created a queue may wait for the queue's
--          lock without a deadlock. A server tries again, see in_turn.
--          It waits for no load either: those that somebody appends to or publishes stay until they
--          are pruned, without a queue.
-- Index:   queue_pkey, load_queue, place_move_pkey. What is on the shelf is not copied any more.
CREATE OR REPLACE FUNCTION slipring.store_delete_queue(p_queue int)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, slipring, pg_temp AS $$
DECLARE
    v_queue slipring.queue;
    v_loads int[];
BEGIN
    PERFORM slipring.administration_lock();
    PERFORM slipring.in_turn(p_queue, {{LOCK_WAIT_MS}});
    v_queue := slipring.queue_lock(p_queue);
    DELETE FROM slipring.queue q WHERE q.queue_id = p_queue;
    DELETE FROM slipring.grantee g WHERE g.queue_id = p_queue;
    v_loads := ARRAY(SELECT l.load_id FROM slipring.load l WHERE l.queue_id = p_queue
        FOR UPDATE SKIP LOCKED);
    DELETE FROM slipring.load_block b WHERE b.load_id = ANY (v_loads);
    DELETE FROM slipring.load_part p WHERE p.load_id = ANY (v_loads);
    DELETE FROM slipring.load l WHERE l.load_id = ANY (v_loads);
    IF v_queue.generation_low IS NOT NULL THEN
        -- What is left in the shared tables is of a lane that no queue will have, and goes with them.
        DELETE FROM slipring.lock_row l WHERE l.queue_id = p_queue;
        UPDATE slipring.place p SET queues = p.queues - 1
        WHERE p.place = v_queue.place OR EXISTS (SELECT FROM slipring.place_move m
            WHERE m.queue_id = p_queue AND p.place IN (m.place_from, m.place_to));
        DELETE FROM slipring.place_move m WHERE m.queue_id = p_queue;
        PERFORM nextval(v_queue.activity);
        RETURN;
    END IF;
    UPDATE slipring.place p SET queue_id = NULL, mark = NULL, empty = false,
        generation = v_queue.generation::text, endings = v_queue.endings::text,
        lock_view = format('slipring.lock_%s', p_queue)
    WHERE p.place = v_queue.place;
    -- Senders that have seen the queue's row turn away at -1. It comes last, for it is not taken
    -- back where one of the statements above fails; see queue_lock for what comes after.
    PERFORM nextval(v_queue.activity), setval(v_queue.generation, -1);
END $$;
