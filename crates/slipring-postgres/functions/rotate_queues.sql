-- Purpose: a step of the rotation for each queue that is due one, up to some twenty, those first that
--          have waited the longest.
-- Inputs:  as store_rotate; the transaction has no number yet.
-- Lock:    the caller holds the lock of rotation; the queue's for each step that is done, which is
--          waited for only while none is held, for they are not taken in the order of numbers. Of a
--          queue with nothing to do all locks are given back at once.
-- Index:   queue_pkey, state_newest.
-- Answers: whether it did a step.
CREATE OR REPLACE FUNCTION slipring.rotate_queues(
    p_now_ms bigint, p_bytes_min bigint, p_age_ms bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_row record;
    v_cost int;
    v_most CONSTANT int := 20;
    v_left int := v_most;
BEGIN
    -- Of most queues there is nothing to rotate, which is found out in one statement for all. The
    -- generation that is written now is the oldest one or the one after it, and a step is due only
    -- where one of the two holds enough; their sequences, each of which stays locked when it was
    -- read, are read of those only. All are read before the first step gives the transaction its
    -- number. Those to be emptied come last: trying that may give it a number in vain.
    FOR v_row IN
        SELECT d.q, d.moved FROM (
            SELECT q, s.generation_mark, s.generation_since_ms, s.generation_mark IS NULL
                AND pg_sequence_last_value(q.generation) <> s.generation_low AS moved
            FROM slipring.queue q CROSS JOIN LATERAL (SELECT s.generation_mark,
                    s.generation_since_ms, s.generation_low
                FROM slipring.state s WHERE s.queue_id = q.queue_id
                ORDER BY s.seq DESC LIMIT 1) s
            WHERE least(p_bytes_min, 1048576) <= greatest(
                pg_relation_size(format('slipring.message_%s_%s', q.place,
                    s.generation_low % 3)::regclass),
                pg_relation_size(format('slipring.message_%s_%s', q.place,
                    (s.generation_low + 1) % 3)::regclass))
            OFFSET 0) d
        ORDER BY d.generation_mark IS NOT NULL, d.generation_since_ms, (d.q).queue_id
    LOOP
        BEGIN
            v_cost := 0;
            IF v_left = v_most OR pg_try_advisory_xact_lock(1397511505, (v_row.q).queue_id) THEN
                v_cost := slipring.rotate_queue(v_row.q, v_row.moved, p_now_ms, p_bytes_min,
                    p_age_ms);
            END IF;
            IF v_cost = 0 THEN
                -- What a block has locked is given back where it fails.
                RAISE EXCEPTION USING ERRCODE = 'SR000';
            END IF;
        EXCEPTION WHEN SQLSTATE 'SR000' THEN
            CONTINUE;
        END;
        v_left := v_left - v_cost;
        EXIT WHEN v_left <= 0;
    END LOOP;
    RETURN v_left < v_most;
END $$;
