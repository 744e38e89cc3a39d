-- Purpose: sets a row aside: keeps it where an operator finds it, and deletes it where it was.
-- Inputs:  p_queue; p_kind of row; p_why; p_messages that it stood for; p_kept, the row; p_table and
--          p_ctid, where it is.
-- Lock:    the caller holds the queue's lock. Where the table is published and has no replica
--          identity, the error SR101 says its name, and in its detail what PostgreSQL said, see aside_rows: it is being read here.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.aside_row(
    p_queue slipring.queue, p_kind text, p_why text, p_messages bigint, p_kept jsonb,
    p_table regclass, p_ctid tid)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO slipring.aside (queue_id, queue, kind, why, messages, kept)
    VALUES (p_queue.queue_id, p_queue.name, p_kind, p_why, p_messages, p_kept);
    BEGIN
        EXECUTE format('DELETE FROM %s WHERE ctid = $1', p_table) USING p_ctid;
    EXCEPTION WHEN object_not_in_prerequisite_state THEN
        RAISE EXCEPTION USING ERRCODE = 'SR101', MESSAGE = p_table::text, DETAIL = SQLERRM;
    END;
END $$;
