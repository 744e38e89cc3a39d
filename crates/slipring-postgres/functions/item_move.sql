-- Purpose: moves rows of item to another queue, ready and never tried, their numbers and fences
--          kept (S6.4).
-- Inputs:  p_queue, where they are; p_to; p_ids; p_source, the name of the queue they were
--          dead-lettered from, null for a redrive.
-- Lock:    the lock of the queue they are in; p_to's row against deletion.
-- Index:   item_pkey; item's other indexes follow.
CREATE OR REPLACE FUNCTION slipring.item_move(
    p_queue slipring.queue, p_to slipring.queue, p_ids bigint[], p_source text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    WITH moved AS (
        UPDATE slipring.item i SET
            queue_id = p_to.queue_id, state = 1,
            turn = CASE WHEN p_to.fifo THEN 0 ELSE i.priority END, attempts = 0,
            first_received_ms = NULL, holder = NULL, source = p_source,
            fifo_group = CASE WHEN p_to.fifo THEN coalesce(i.group_name, '') END
        FROM slipring.item o
        WHERE o.id = ANY (p_ids) AND i.id = o.id AND i.queue_id = p_queue.queue_id
        RETURNING o.state AS was, i.priority, i.bytes, o.fifo_group AS group_was, i.fifo_group),
    touched AS (
        INSERT INTO slipring.fifo_touched
        SELECT DISTINCT p_queue.queue_id, m.group_was FROM moved m WHERE m.group_was IS NOT NULL
        UNION ALL
        SELECT DISTINCT p_to.queue_id, m.fifo_group FROM moved m
        WHERE m.fifo_group IS NOT NULL)
    INSERT INTO slipring.tally
    SELECT p_queue.queue_id, -count(*) FILTER (WHERE m.was = 1),
        -count(*) FILTER (WHERE m.was = 1 AND m.priority < 1024),
        -count(*) FILTER (WHERE m.was = 0), -count(*) FILTER (WHERE m.was = 2),
        -count(*) FILTER (WHERE m.was = 3), -sum(m.bytes)
    FROM moved m HAVING count(*) > 0
    UNION ALL
    SELECT p_to.queue_id, count(*), count(*) FILTER (WHERE m.priority < 1024), 0, 0, 0,
        sum(m.bytes)
    FROM moved m HAVING count(*) > 0;
    PERFORM nextval(p_queue.activity), nextval(p_to.activity);
END $$;
