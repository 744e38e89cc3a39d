-- Purpose: checks that a queue has room for the messages of a load (S12).
-- Inputs:  p_queue; p_load; p_messages and p_bytes of it.
-- Lock:    the caller holds the queue's lock.
-- Index:   see store_stats.
CREATE OR REPLACE FUNCTION slipring.load_room(
    p_queue slipring.queue, p_load int, p_messages bigint, p_bytes bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_total bigint;
    v_bytes bigint;
BEGIN
    IF p_queue.messages_max IS NULL AND p_queue.bytes_max IS NULL THEN
        RETURN;
    END IF;
    SELECT s.ready + s.delayed + s.leased + s.parked + p_messages, s.bytes + p_bytes
    INTO v_total, v_bytes FROM slipring.store_stats(p_queue.queue_id, 0) s;
    IF v_total > p_queue.messages_max THEN
        PERFORM slipring.fail_limit(p_queue.name, 'messages_max', p_queue.messages_max, v_total);
    ELSIF v_bytes > p_queue.bytes_max THEN
        PERFORM slipring.fail_limit(p_queue.name, 'bytes_max', p_queue.bytes_max, v_bytes);
    END IF;
END $$;
