-- Purpose: deletes a queue with all that is in it. Its tables are emptied by the next
--          step of store_rotate that may.
-- Inputs:  p_queue.
-- Lock:    the queue's, then the lock of administration: nobody waits for a queue with that one.
-- Index:   queue_pkey, load_queue. What is on the shelf is not copied any more.
CREATE OR REPLACE FUNCTION slipring.store_delete_queue(p_queue int)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, slipring, pg_temp AS $$
DECLARE
    v_queue slipring.queue;
BEGIN
    v_queue := slipring.queue_lock(p_queue);
    LOCK TABLE slipring.lock_administration IN SHARE UPDATE EXCLUSIVE MODE;
    EXECUTE format('DROP VIEW slipring.lock_%s', p_queue);
    DELETE FROM slipring.queue q WHERE q.queue_id = p_queue;
    DELETE FROM slipring.load_block b USING slipring.load l
    WHERE l.queue_id = p_queue AND b.load_id = l.load_id;
    DELETE FROM slipring.load_part p USING slipring.load l
    WHERE l.queue_id = p_queue AND p.load_id = l.load_id;
    DELETE FROM slipring.load l WHERE l.queue_id = p_queue;
    UPDATE slipring.place p SET queue_id = NULL, mark = NULL, empty = false,
        generation = v_queue.generation::text, endings = v_queue.endings::text
    WHERE p.place = v_queue.place;
    -- Senders that have seen the queue's row turn away at -1. It comes last, for it is not taken
    -- back where one of the statements above fails; see queue_lock for what comes after.
    PERFORM nextval(v_queue.activity), setval(v_queue.generation, -1);
END $$;
