-- Purpose: gives a queue a limit of messages; answers the limit.
-- Inputs: $1 the queue, $2 the limit.
-- Lock: the queue's.
-- Index: that of the queues' names.
SELECT (slipring.configure($1::text, jsonb_build_object('messages_max', $2::bigint))
    ->> 'messages_max')::bigint
