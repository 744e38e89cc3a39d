-- Purpose: sets acks of SQL users aside that can be none. Their messages are handed out again.
-- Inputs:  p_queue.
-- Lock:    the caller holds the queue's lock.
-- Index:   ack_queue; walks the queue's acks since the last rotation.
CREATE OR REPLACE FUNCTION slipring.aside_acks(p_queue slipring.queue)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_state slipring.state := slipring.state_read(p_queue);
    v_row record;
BEGIN
    FOR v_row IN
        SELECT a.*, to_jsonb(a) AS kept FROM (
            SELECT a.tableoid::regclass AS place, a.ctid AS at, CASE
                WHEN a.fence = 0 OR a.fence > v_state.fence THEN format('the fence %s', a.fence)
                WHEN a.message_id < 0 OR (a.message_id = 0) <> (a.ids IS NOT NULL)
                    THEN format('the message %s', a.message_id)
                WHEN lower_inf(a.ids) OR upper_inf(a.ids) THEN 'messages without bounds'
                WHEN (SELECT sum(upper(r)::numeric - lower(r)) > {{LEASE_MESSAGES_MAX}}
                    FROM unnest(a.ids) r)
                    THEN 'more messages than a lease can have' END AS why,
                a.queue_id, a.id, a.message_id, a.fence, a.ids
            FROM slipring.ack a WHERE a.queue_id = p_queue.queue_id) a
        WHERE a.why IS NOT NULL
    LOOP
        PERFORM slipring.aside_row(p_queue, 'ack', v_row.why, 0, v_row.kept - 'at' - 'place' - 'why',
            v_row.place, v_row.at);
    END LOOP;
END $$;
