-- Purpose: locks messages for a receive by SQL of several by the queue's offers: the parts of the next
--          tickets, by few statements and without looking at those that other receives have.
-- Inputs:  p_queue; p_now_ms; p_n, how many messages at most.
-- Lock:    the rows', to the end of the transaction; those that are locked are passed over.
-- Index:   see offer_draw; the partitions' order indexes, a range for each run of
--          ids; see state_read.
-- Answers: see taken_apart; null where nothing is offered that is ready still and free.
CREATE OR REPLACE FUNCTION slipring.offer_apart(
    p_queue slipring.queue, p_now_ms bigint, p_n bigint)
RETURNS slipring.state LANGUAGE plpgsql AS $$
DECLARE
    v_drawn record := slipring.offer_draw(p_queue, p_now_ms, p_n);
    v_table text;
    v_some int8multirange;
    v_mine int8multirange := '{}';
    v_kept record;
BEGIN
    IF v_drawn.total = 0 THEN
        RETURN NULL;
    END IF;
    FOREACH v_table IN ARRAY v_drawn.tables LOOP
        EXECUTE 'SELECT range_agg(int8range(m.id - m.n, m.id, ''(]'')) FROM unnest($2) r
            CROSS JOIN LATERAL (SELECT m.id, coalesce(m.n, 1) AS n FROM ' || v_table
            || ' m WHERE m.lane = $1 AND m.id >= lower(r) AND m.id < upper(r) + {{PACK_MESSAGES_MAX}}
                AND m.id - coalesce(m.n, 1) + 1 < upper(r) ORDER BY m.id FOR UPDATE SKIP LOCKED) m'
        INTO v_some USING v_drawn.lane, v_drawn.todo;
        v_mine := v_mine + v_drawn.todo * coalesce(v_some, '{}');
        EXIT WHEN (SELECT sum(upper(r) - lower(r)) FROM unnest(v_mine) r) = v_drawn.total;
    END LOOP;
    IF isempty(v_mine) THEN
        RETURN NULL;
    END IF;
    -- Parts that it has all of with the numbers between, which no message has.
    v_mine := v_mine + (SELECT coalesce(range_agg(r), '{}')
        FROM unnest(v_drawn.parts, v_drawn.sizes) AS p(part, size) CROSS JOIN LATERAL unnest(p.part) r
        WHERE p.size = (SELECT sum(upper(m) - lower(m)) FROM unnest(p.part * v_mine) m));
    v_kept := slipring.taken_keep(slipring.state_read(p_queue), ARRAY[v_drawn.lane], ARRAY[v_mine]);
    RETURN CASE WHEN NOT isempty((v_kept.p_state).open[1]) THEN v_kept.p_state END;
END $$;
