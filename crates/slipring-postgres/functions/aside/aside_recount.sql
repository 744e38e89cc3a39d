-- Purpose: counts the messages of a queue anew, where rows were set aside: how such a row had been counted
--          cannot be told any more. Those that have pictures are counted here, those of the log by the
--          next look.
-- Inputs:  p_queue.
-- Lock:    the caller holds the queue's lock.
-- Index:   item_order, all messages of the queue; see items_count.
CREATE OR REPLACE FUNCTION slipring.aside_recount(p_queue slipring.queue)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_state slipring.state := slipring.state_read(p_queue);
BEGIN
    v_state.seq := v_state.seq + 1;
    v_state.counted := array_fill(0::bigint, ARRAY[cardinality(v_state.lanes)]);
    v_state.counted_bytes := v_state.counted;
    v_state.uncounted := '{[0,)}';
    PERFORM slipring.state_write(p_queue, v_state);
    INSERT INTO slipring.tally (slot, queue_id, entry, ready, urgent, delayed, leased, parked, bytes)
    SELECT slipring.shelf_slot(), p_queue.queue_id, slipring.entry_now(p_queue.xid_base),
        i.ready - t.ready, i.urgent - t.urgent, i.delayed - t.delayed, i.leased - t.leased,
        i.parked - t.parked, i.bytes - t.bytes
    FROM (SELECT count(*) FILTER (WHERE i.state = 1) AS ready,
              count(*) FILTER (WHERE i.state = 1 AND i.priority < {{PRIORITY_DEFAULT}}) AS urgent,
              count(*) FILTER (WHERE i.state = 0) AS delayed,
              count(*) FILTER (WHERE i.state = 2) AS leased,
              count(*) FILTER (WHERE i.state = 3) AS parked,
              coalesce(sum(i.bytes), 0) AS bytes
          FROM unnest(ARRAY[0, 1, 2, 3]) k CROSS JOIN LATERAL (
              SELECT i.* FROM slipring.item i
              WHERE i.queue_id * 8::bigint + i.state = p_queue.queue_id * 8::bigint + k
                  AND i.state + 0 < 4 OFFSET 0) i) i
    CROSS JOIN slipring.items_count(p_queue.queue_id) t;
END $$;
