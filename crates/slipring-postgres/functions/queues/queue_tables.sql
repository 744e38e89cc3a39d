-- Purpose: gives a new queue its message tables, sequences and lock: of its own, or shared ones where
--          own_tables_max of the store have theirs already, with those of deleted queues that are not emptied yet. FIFO queues have their own always: the
--          log holds what they have not brought into their groups, and cannot be left early.
-- Inputs:  p_queue with its number and settings; p_now_ms.
-- Lock:    the caller holds the lock of administration; see place_take, place_share.
-- Index:   lock_row_pkey.
-- Answers: the queue with place, sequences, lane_base and lanes.
CREATE OR REPLACE FUNCTION slipring.queue_tables(p_queue slipring.queue, p_now_ms bigint)
RETURNS slipring.queue LANGUAGE plpgsql
-- The caller's would act else, with the owner's right to them; see tables_where.
SET default_tablespace = '' SET default_table_access_method = heap AS $$
DECLARE
    v_id int := p_queue.queue_id;
BEGIN
    PERFORM slipring.tables_where();
    p_queue.lane_base := 0;
    IF p_queue.fifo OR (SELECT s.own_tables_max FROM slipring.store s) > (
            SELECT count(*) FROM slipring.place p WHERE NOT p.shared AND (p.queue_id IS NOT NULL OR NOT p.empty)) THEN
        p_queue.place := slipring.place_take(v_id);
        EXECUTE format('CREATE SEQUENCE slipring.generation_%s MINVALUE -1 START 0', v_id);
        EXECUTE format('CREATE SEQUENCE slipring.endings_%s MINVALUE 0 START 0', v_id);
        EXECUTE format('CREATE VIEW slipring.lock_%1$s AS SELECT %1$s AS queue_id', v_id);
        PERFORM slipring.to_owner(ARRAY['slipring.generation_' || v_id, 'slipring.endings_' || v_id,
            'slipring.lock_' || v_id]);
        p_queue.generation := format('slipring.generation_%s', v_id)::regclass;
        p_queue.endings := format('slipring.endings_%s', v_id)::regclass;
        PERFORM setval(p_queue.generation, 0), setval(p_queue.endings, 0);
    ELSE
        p_queue.place := slipring.place_share(p_now_ms);
        p_queue.generation := format('slipring.place_generation_%s', p_queue.place)::regclass;
        p_queue.generation_low := format('slipring.place_low_%s', p_queue.place)::regclass;
        p_queue.endings := NULL;
        p_queue.lane_base := v_id::bigint << {{LANE_SHIFT}};
        INSERT INTO slipring.lock_row (queue_id, kind) VALUES (v_id, 0), (v_id, 1);
    END IF;
    p_queue.lanes := ARRAY[p_queue.lane_base
        + CASE WHEN p_queue.fifo THEN 0 ELSE {{PRIORITY_DEFAULT}} END];
    RETURN p_queue;
END $$;
