-- Purpose: sets the deadlines of leased messages that have pictures; of several entries for one
--          the last counts.
-- Inputs:  p_queue; p_ids, p_untils_ms.
-- Lock:    the queue's lock.
-- Index:   item_picture_N_newest; the indexes of item_picture grow.
CREATE OR REPLACE FUNCTION slipring.item_prolong(
    p_queue slipring.queue, p_ids bigint[], p_untils_ms bigint[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_slot int := slipring.shelf_slot();
    v_entry bigint := slipring.entry_now(p_queue.xid_base);
BEGIN
    INSERT INTO slipring.item_picture (slot, id, seq, entry, queue_id, state, turn, priority,
        sent_ms, attempts, fence, first_received_ms, delay_ms, lease_ms, holder, bytes,
        fifo_group, source, earlier, failures)
    SELECT v_slot, i.id, i.seq + 1, v_entry, i.queue_id, i.state, u.until_ms, i.priority,
        i.sent_ms, i.attempts, i.fence, i.first_received_ms, i.delay_ms, i.lease_ms, i.holder,
        i.bytes, i.fifo_group, i.source, i.earlier, i.failures
    FROM (SELECT DISTINCT ON (u.id) u.* FROM unnest(p_ids, p_untils_ms)
              WITH ORDINALITY AS u(id, until_ms, n)
          ORDER BY u.id, u.n DESC) u
    CROSS JOIN LATERAL slipring.item_now(u.id) i WHERE i.state = 2;
    -- A deadline may have moved closer, which those who wait for the ends of leases have to hear.
    PERFORM nextval(p_queue.activity);
END $$;
