-- Purpose: notes how far pictures have been read: before (p_turn, p_id) none is left.
-- Inputs:  p_mark as read before; p_turn, p_id; p_done, a cut that was made before the pictures
--          were read: newer ones are looked at by their entries.
-- Lock:    the caller holds the queue's lock.
-- Index:   mark_newest grows by one entry.
CREATE OR REPLACE FUNCTION slipring.mark_write(
    p_mark slipring.mark, p_turn bigint, p_id bigint, p_done int8multirange)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO slipring.mark (slot, queue_id, kind, seq, turn, id, unseen)
    VALUES (slipring.shelf_slot(), p_mark.queue_id, p_mark.kind, slipring.shelf_seq(p_mark.seq),
        p_turn, p_id, int8multirange(int8range(0, NULL)) - p_done);
END $$;
