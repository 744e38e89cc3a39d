-- Purpose: counts the messages of a queue anew, where rows were set aside: what such a row was counted as,
--          nobody knows. Those that have pictures are counted here, those of the log by the next look.
-- Inputs:  p_queue.
-- Lock:    the caller holds the queue's lock.
-- Index:   item_order, all messages of the queue; tally_sum_newest; tally_queue for what those without the
--          lock have added, which stays a difference.
CREATE OR REPLACE FUNCTION slipring.aside_recount(p_queue slipring.queue)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_id int := p_queue.queue_id;
    v_unseen int8multirange := int8multirange(int8range(0, NULL)) - slipring.cut(p_queue.xid_base);
    v_state slipring.state := slipring.state_read(p_queue);
BEGIN
    v_state.seq := v_state.seq + 1;
    v_state.counted := array_fill(0::bigint, ARRAY[cardinality(v_state.lanes)]);
    v_state.counted_bytes := v_state.counted;
    v_state.uncounted := '{[0,)}';
    PERFORM slipring.state_write(p_queue, v_state);
    INSERT INTO slipring.tally_sum (slot, queue_id, seq, ready, urgent, delayed, leased, parked,
        bytes, unseen)
    SELECT slipring.shelf_slot(), v_id, slipring.shelf_seq((SELECT s.seq FROM tally_sum s
            WHERE s.queue_id = v_id ORDER BY s.seq DESC LIMIT 1)),
        i.ready - t.ready, i.urgent - t.urgent, i.delayed - t.delayed, i.leased - t.leased,
        i.parked - t.parked, i.bytes - t.bytes, v_unseen
    FROM (SELECT count(*) FILTER (WHERE i.state = 1) AS ready,
              count(*) FILTER (WHERE i.state = 1 AND i.priority < {{PRIORITY_DEFAULT}}) AS urgent,
              count(*) FILTER (WHERE i.state = 0) AS delayed,
              count(*) FILTER (WHERE i.state = 2) AS leased,
              count(*) FILTER (WHERE i.state = 3) AS parked,
              coalesce(sum(i.bytes), 0) AS bytes
          FROM unnest(ARRAY[0, 1, 2, 3]) k CROSS JOIN LATERAL (
              SELECT i.* FROM slipring.item i
              WHERE i.queue_id * 8::bigint + i.state = v_id * 8::bigint + k
                  AND i.state + 0 < 4 OFFSET 0) i) i
    CROSS JOIN (SELECT coalesce(sum(t.ready), 0) AS ready, coalesce(sum(t.urgent), 0) AS urgent,
              coalesce(sum(t.delayed), 0) AS delayed, coalesce(sum(t.leased), 0) AS leased,
              coalesce(sum(t.parked), 0) AS parked, coalesce(sum(t.bytes), 0) AS bytes
          FROM slipring.spans(v_unseen) r CROSS JOIN LATERAL (
              SELECT t.* FROM tally t WHERE t.queue_id = v_id AND t.entry >= r.first
                  AND t.entry < r.past OFFSET 0) t) t;
END $$;
