-- Purpose: reads a queue, and keeps what its messages are read from from being emptied until this
--          transaction ends: its oldest message table, the journal and the shelf. TRUNCATE takes
--          rows away from pictures that are older, too: whoever reads a queue without its lock
--          would miss what a rotation has moved or copied meanwhile.
-- Inputs:  p_queue, which it is an error not to find (SR001).
-- Lock:    ACCESS SHARE on that table, for which a rotation that empties it is waited for; see
--          generations_enter.
-- Index:   queue_pkey, state_newest.
-- Answers: the queue. The caller reads its messages in a statement of its own afterwards. At
--          REPEATABLE READ, where that has the same picture, it may miss some all the same.
CREATE OR REPLACE FUNCTION slipring.queue_hold(p_queue int)
RETURNS slipring.queue LANGUAGE plpgsql AS $$
DECLARE
    v_queue slipring.queue;
    v_held bigint;
    v_low bigint;
BEGIN
    PERFORM slipring.generations_enter();
    SELECT * INTO v_queue FROM slipring.queue q WHERE q.queue_id = p_queue;
    IF v_queue.queue_id IS NULL THEN
        PERFORM slipring.queue_gone(p_queue);
    END IF;
    IF v_queue.generation_low IS NOT NULL THEN
        PERFORM slipring.place_enter(v_queue);
        RETURN v_queue;
    END IF;
    -- Mostly the table that is written is the only one; below 0 the queue is being deleted.
    v_low := greatest(pg_sequence_last_value(v_queue.generation), 0);
    LOOP
        EXECUTE 'LOCK TABLE slipring.message_' || v_queue.place || '_' || v_low % 3
            || ' IN ACCESS SHARE MODE';
        v_held := v_low;
        SELECT s.generation_low INTO v_low FROM state s WHERE s.queue_id = p_queue
        ORDER BY s.seq DESC LIMIT 1;
        IF v_low IS NULL THEN
            v_low := (slipring.state_newest(p_queue)).generation_low;
        END IF;
        EXIT WHEN v_low = v_held;
    END LOOP;
    RETURN v_queue;
END $$;
