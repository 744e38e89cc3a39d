-- Purpose: the functions that a right is to call.
-- Inputs:  p_kind: producer, consumer or admin; p_whole, in all queues: some are about no queue.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.right_functions(p_kind text, p_whole boolean)
RETURNS text[] LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_sends text[] := ARRAY['send', 'send_batch', 'load_begin', 'load_reserve', 'load_append',
        'load_publish', 'load_abandon'];
    v_receives text[] := ARRAY['receive', 'ack', 'nack', 'extend', 'ready', 'await'];
    v_administers text[] := ARRAY['configure', 'pause', 'resume', 'purge', 'redrive', 'peek',
        'stats', 'queues', 'set_aside', 'findings'];
    v_of_all text[] := ARRAY['create_queue', 'maintain', 'maintenance', 'maintain_step', 'grant',
        'revoke', 'failures'];
BEGIN
    RETURN CASE p_kind WHEN 'producer' THEN v_sends WHEN 'consumer' THEN v_receives
        ELSE v_sends || v_receives || v_administers
            || CASE WHEN p_whole THEN v_of_all ELSE '{}' END END;
END $$;
