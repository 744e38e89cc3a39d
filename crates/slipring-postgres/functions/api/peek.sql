-- Purpose: looks at messages of a queue without taking them, in hand-out order.
-- Inputs:  the queue's name; state ready, delayed, leased or parked, null for all; at most how
--          many, 1 to 1,000.
-- Lock:    none; one snapshot.
-- Index:   see store_peek.
CREATE OR REPLACE FUNCTION slipring.peek(queue text, state text DEFAULT NULL, n int DEFAULT 10)
RETURNS TABLE (id bigint, message_state text, until timestamptz, body bytea, priority bigint,
    attempts bigint, sent_at timestamptz, "group" text, dedup_id text, headers jsonb,
    dead_letter_source text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET jit = off AS $$
    SELECT p.id, p.state, to_timestamp(p.until_ms / 1000.0), p.body, p.priority, p.attempts,
        to_timestamp(p.sent_ms / 1000.0), p.group_name, p.dedup_id, p.headers::jsonb, split_part(p.source, ':', 1)
    FROM slipring.store_peek((slipring.queue_named($1, 'admin')).queue_id, $2,
        slipring.count_check('peek_messages_max', 1000, $3, $1), slipring.now_ms()) p
$$;
