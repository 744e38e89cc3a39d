-- Purpose: what is wrong with a picture of a message, the newest one.
-- Inputs:  p_item; p_fifo of its queue.
-- Lock:    the caller's snapshot.
-- Index:   item_body_id.
-- Answers: null when nothing is.
CREATE OR REPLACE FUNCTION slipring.item_fault(p_item slipring.item_picture, p_fifo boolean)
RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN p_item.seq NOT BETWEEN 1 AND 4611686018427387904
            THEN format('the number %s of a picture', p_item.seq)
        WHEN p_item.attempts NOT BETWEEN 0 AND 1099511627776
            THEN format('%s attempts', p_item.attempts)
        WHEN p_item.earlier NOT BETWEEN 0 AND 1099511627776
            THEN format('%s attempts before', p_item.earlier)
        WHEN p_item.priority NOT BETWEEN 0 AND {{PRIORITY_MAX}}
            THEN format('the priority %s', p_item.priority)
        WHEN p_item.bytes < 0 THEN format('%s bytes', p_item.bytes)
        WHEN p_item.fence > 4611686018427387904
            THEN format('the fence %s', p_item.fence)
        WHEN p_item.sent_ms NOT BETWEEN 0 AND {{MOMENT_MS_MAX}}
            THEN format('sent at %s ms', p_item.sent_ms)
        WHEN p_item.first_received_ms NOT BETWEEN 0 AND {{MOMENT_MS_MAX}}
            THEN format('first received at %s ms', p_item.first_received_ms)
        WHEN p_item.delay_ms NOT BETWEEN 0 AND {{DURATION_MS_MAX}}
            THEN format('a delay of %s ms', p_item.delay_ms)
        WHEN p_item.lease_ms NOT BETWEEN 0 AND {{DURATION_MS_MAX}}
            THEN format('a lease of %s ms', p_item.lease_ms)
        WHEN p_item.turn NOT BETWEEN 0 AND {{MOMENT_MS_MAX}}
            THEN format('the turn %s', p_item.turn)
        WHEN p_item.source IS NOT NULL AND NOT slipring.queue_name_ok(p_item.source)
            THEN format('a source %s, which no queue is named', p_item.source)
        WHEN p_fifo AND p_item.fifo_group IS NULL THEN 'no group'
        ELSE coalesce((SELECT CASE WHEN b.headers IS NOT NULL
                    AND NOT slipring.headers_whole(b.headers)
                THEN 'headers that are no JSON object of texts' ELSE '' END
            FROM slipring.item_content(p_item.id) b), 'no body') END
$$;
