-- Purpose: one step of background work, with the limits that a server has by default. Must be a
--          transaction of its own.
-- Inputs:  step and at, from maintenance.
-- Lock:    see store_due_in, store_expire_in, store_prune, store_rotate, store_load_prune; none is
--          waited for longer than 50 ms, now and then 1 s for a queue, or 2 s by a rotation that has long been
--          under way.
-- Index:   see there.
-- Answers: the at of the next step of the same kind; null when none is needed now: nothing is left,
--          or another transaction has the lock.
CREATE OR REPLACE FUNCTION slipring.maintain_step(step text, at int)
RETURNS int LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp AS $$
DECLARE
    v_now bigint := slipring.now_ms();
    v_next bigint;
    v_rotated record;
BEGIN
    PERFORM slipring.isolation_check(), slipring.in_turn(0, CASE WHEN step IN ('due', 'lapse')
        THEN slipring.turn_wait(at, v_now, {{QUEUE_WAIT_MS}}) ELSE {{LOCK_WAIT_MS}} END);
    IF at IS NULL OR step IS NULL OR step <> ALL (ARRAY['due', 'lapse', 'retention', 'load',
        'queues', 'shared', 'moves', 'journal', 'shelf', 'dedup', 'places']) THEN
        PERFORM slipring.fail('SR007', format('%s at %s is no step; take one that maintenance '
            'answers', slipring.name_shown(step), coalesce(at::text, 'null')), '{}');
    END IF;
    CASE step
    WHEN 'due' THEN
        v_next := (SELECT min(d.next_ms) FROM slipring.store_due_in(at, v_now) d);
    WHEN 'lapse' THEN
        v_next := (SELECT min(d.next_ms) FROM slipring.store_expire_in(at, v_now) d);
    WHEN 'retention' THEN
        v_next := (SELECT p.next_ms FROM slipring.store_prune(at, v_now, {{TURN_MESSAGES_MAX}}) p);
    WHEN 'load' THEN
        -- A load to which nothing was appended for 24 hours ends (S15).
        v_next := (SELECT CASE WHEN p.ended THEN v_now END
            FROM slipring.store_load_prune(v_now - {{LOAD_KEPT_MS}}) p);
    ELSE
        -- A crash undoes the last steps, and they are done again.
        PERFORM set_config('synchronous_commit', 'off', true);
        SELECT r.done, r.after INTO v_rotated
        FROM slipring.store_rotate(step, v_now, {{ROTATE_BYTES}}, {{ROTATE_AGE_MS}}, at) r;
        -- A queue, or a set, for which something was done is the next one again.
        RETURN coalesce(v_rotated.after - (v_rotated.done IS TRUE)::int,
            CASE WHEN v_rotated.done THEN 0 END);
    END CASE;
    RETURN CASE WHEN v_next <= v_now THEN at END;
EXCEPTION
    WHEN lock_not_available OR SQLSTATE 'SR001' THEN
        -- Others have the lock; or the queue was deleted meanwhile.
        RETURN NULL;
    WHEN OTHERS THEN
        -- Of the steps of the other kinds none is of one queue.
        IF step <> ALL (ARRAY['due', 'lapse', 'retention']) OR NOT slipring.row_fault(SQLSTATE) THEN
            RAISE;
        END IF;
        RETURN CASE WHEN slipring.aside_caught(at, v_now, SQLSTATE, SQLERRM) THEN at END;
END $$;
