-- Purpose: hands out ready messages to a receive by SQL: without the queue's lock where only
--          messages of the log are ready, or where another transaction has the lock.
-- Inputs:  p_queue; p_now_ms, read again where it has waited for a lock; p_n; p_lease_ms or null.
-- Lock:    see receive_taken and taken_ask; else the queue's lock. In a transaction that has another queue's, by a
--          receive before this one, it is waited for 50 ms at most: then nothing is handed out.
-- Index:   see receive_taken, store_claim, items_count.
-- Answers: see store_claim. No row where the queue is paused, which needs no lock.
CREATE OR REPLACE FUNCTION slipring.receive_claim(
    p_queue slipring.queue, p_now_ms bigint, p_n int, p_lease_ms bigint)
RETURNS TABLE (demand int, id bigint, fence bigint, deadline_ms bigint, sent_ms bigint,
    priority bigint, attempts bigint, first_received_ms bigint, delay_ms bigint, lease_ms bigint,
    group_name text, dedup_id text, headers text, source text, body bytea, end_kind text,
    ids bigint[], sents_ms bigint[], bodies bytea[], groups text[], dedup_ids text[],
    headers_each text[], ns int[], firsts bigint[], counts int[], place bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_queue slipring.queue := slipring.queue_hold(p_queue.queue_id);
    v_pictures boolean := slipring.items_ready(v_queue.queue_id);
    v_rows bigint;
    v_there boolean;
    v_none boolean;
BEGIN
    IF v_queue.home_at <> v_queue.written_at THEN
        PERFORM slipring.queue_at_home(v_queue);
    END IF;
    IF slipring.queue_paused(v_queue, p_now_ms) THEN
        RETURN;
    END IF;
    IF NOT v_queue.fifo AND NOT (v_pictures AND slipring.queue_free(v_queue.queue_id)) THEN
        RETURN QUERY SELECT * FROM slipring.receive_taken(v_queue, p_now_ms, p_n, p_lease_ms);
        GET DIAGNOSTICS v_rows = ROW_COUNT;
        IF v_rows = 0 THEN
            -- A receive that finds nothing waits for no lock.
            IF NOT slipring.taken_useful(v_queue) THEN
                demand := 0;
                end_kind := 'drained';
                RETURN NEXT;
                v_rows := 1;
            ELSIF NOT slipring.taken_ask(v_queue) THEN
                RETURN;
            ELSE
                -- The wait may have been long: the queue is read again, and leases begin now.
                v_queue := slipring.queue_hold(p_queue.queue_id);
                p_now_ms := slipring.now_ms();
                IF slipring.queue_paused(v_queue, p_now_ms) THEN
                    RETURN;
                END IF;
                v_pictures := slipring.items_ready(v_queue.queue_id);
                RETURN QUERY SELECT * FROM slipring.receive_taken(v_queue, p_now_ms, p_n, p_lease_ms,
                    true);
                GET DIAGNOSTICS v_rows = ROW_COUNT;
            END IF;
        END IF;
        IF v_rows > 1 OR v_rows = 1 AND NOT v_pictures THEN
            RETURN;
        END IF;
    END IF;
    v_there := slipring.queue_free(v_queue.queue_id);
    FOR v_try IN 1..20 LOOP
        EXIT WHEN v_there;
        BEGIN
            PERFORM slipring.queue_wait(v_queue.queue_id, true);
            IF NOT EXISTS (SELECT FROM slipring.queue q WHERE q.queue_id = v_queue.queue_id) THEN
                PERFORM slipring.queue_gone(v_queue.queue_id, v_queue.name);
            END IF;
            -- The transaction that held the lock may have taken the last message with a picture, where
            -- receive_taken found none in the log. A block that fails gives its locks back; one that
            -- is a row is taken again, see queue_wait.
            v_none := v_rows = 1 AND NOT slipring.items_ready(v_queue.queue_id);
            IF v_none OR slipring.queue_lock_is_row(v_queue.queue_id) THEN
                RAISE EXCEPTION USING ERRCODE = 'SR100';
            END IF;
            v_there := true;
        EXCEPTION
            WHEN SQLSTATE 'SR100' THEN
                IF v_none THEN
                    RETURN;
                END IF;
                v_there := slipring.queue_free(v_queue.queue_id);
            WHEN lock_not_available THEN
                IF slipring.queue_holds_other(v_queue.queue_id) THEN
                    RETURN;
                END IF;
                RAISE;
        END;
    END LOOP;
    IF NOT v_there THEN
        RETURN;
    END IF;
    -- Leases begin when the lock is there.
    RETURN QUERY SELECT * FROM slipring.store_claim(v_queue.queue_id, slipring.now_ms(), ARRAY[p_n],
        ARRAY[p_lease_ms], '{f}', NULL);
END $$;
