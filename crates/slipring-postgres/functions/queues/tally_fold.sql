-- Purpose: sums a queue's differences when there are many, and moves its marks past what is out of
--          date by then.
-- Inputs:  p_queue; p_least, how many make it worth while.
-- Lock:    the caller holds the queue's lock.
-- Index:   tally_sum_newest, tally_queue; see mark_forward.
CREATE OR REPLACE FUNCTION slipring.tally_fold(p_queue slipring.queue, p_least int DEFAULT {{TALLY_FOLD}})
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_id int := p_queue.queue_id;
    v_done int8multirange;
    v_sum slipring.tally_sum;
BEGIN
    IF (slipring.items_count(v_id)).differences < p_least THEN
        RETURN;
    END IF;
    v_done := slipring.cut(p_queue.xid_base);
    SELECT * INTO v_sum FROM tally_sum s WHERE s.queue_id = v_id
    ORDER BY s.seq DESC LIMIT 1;
    INSERT INTO slipring.tally_sum (slot, queue_id, seq, ready, urgent, delayed, leased, parked,
        bytes, unseen)
    SELECT slipring.shelf_slot(), v_id, slipring.shelf_seq(v_sum.seq),
        coalesce(v_sum.ready, 0) + coalesce(sum(t.ready), 0),
        coalesce(v_sum.urgent, 0) + coalesce(sum(t.urgent), 0),
        coalesce(v_sum.delayed, 0) + coalesce(sum(t.delayed), 0),
        coalesce(v_sum.leased, 0) + coalesce(sum(t.leased), 0),
        coalesce(v_sum.parked, 0) + coalesce(sum(t.parked), 0),
        coalesce(v_sum.bytes, 0) + coalesce(sum(t.bytes), 0),
        int8multirange(int8range(0, NULL)) - v_done
    FROM slipring.spans(coalesce(v_sum.unseen, '{[0,)}') * v_done) r CROSS JOIN LATERAL (
        SELECT t.* FROM tally t WHERE t.queue_id = v_id AND t.entry >= r.first
            AND t.entry < r.past OFFSET 0) t;
    PERFORM slipring.mark_forward(m, v_done, m.turn, m.id, 4)
    FROM unnest(ARRAY[0, 1, 2, 3, 7, 8]) k CROSS JOIN LATERAL slipring.mark_read(v_id, k) m;
END $$;
