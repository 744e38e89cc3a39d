-- Purpose: sends one message inside the caller's transaction: it is there if and only if that
--          commits (S10).
-- Inputs:  the queue's name; the body; priority, 0 is the most urgent; delay; group;
--          deduplication id; headers, a JSON object of texts.
-- Lock:    none; the entry of a deduplication id.
-- Index:   queue_name; the partition's order index grows.
-- Answers: the message's number; with a deduplication id that was seen, the first message's.
CREATE OR REPLACE FUNCTION slipring.send(
    queue text, body bytea, priority bigint DEFAULT 1024, delay interval DEFAULT NULL,
    "group" text DEFAULT NULL, dedup_id text DEFAULT NULL, headers jsonb DEFAULT NULL)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    v_queue slipring.queue;
    v_before bigint;
    v_generation bigint;
BEGIN
    SELECT * INTO v_queue FROM slipring.queue q WHERE q.name = send.queue;
    IF priority = ANY (v_queue.lanes) AND NOT v_queue.fifo AND delay IS NULL AND "group" IS NULL
        AND dedup_id IS NULL AND headers IS NULL AND v_queue.delay_ms = 0
        AND octet_length(body) <= v_queue.message_bytes_max
        AND v_queue.messages_max IS NULL AND v_queue.bytes_max IS NULL THEN
        v_before := slipring.id_take(v_queue, 1);
        v_generation := slipring.generation_now(v_queue);
        INSERT INTO slipring.message (id, lane, sent_ms, place, bytes, body)
        VALUES (v_before + 1, priority,
            (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
            v_queue.place * 4 + v_generation % 3, octet_length(body), body);
        RETURN v_before + 1;
    END IF;
    RETURN (slipring.send_rows(queue, ARRAY[body], ARRAY[priority],
        ARRAY[slipring.interval_ms(delay, 'the delay')], ARRAY["group"], ARRAY[dedup_id],
        ARRAY[slipring.headers_text(headers)]))[1];
END $$;

CREATE OR REPLACE FUNCTION slipring.send(
    queue text, body jsonb, priority bigint DEFAULT 1024, delay interval DEFAULT NULL,
    "group" text DEFAULT NULL, dedup_id text DEFAULT NULL, headers jsonb DEFAULT NULL)
RETURNS bigint LANGUAGE sql SET search_path = pg_catalog, slipring, pg_temp AS $$
    SELECT slipring.send($1, convert_to($2::text, 'UTF8'), $3, $4, $5, $6, $7)
$$;

CREATE OR REPLACE FUNCTION slipring.send(
    queue text, body text, priority bigint DEFAULT 1024, delay interval DEFAULT NULL,
    "group" text DEFAULT NULL, dedup_id text DEFAULT NULL, headers jsonb DEFAULT NULL)
RETURNS bigint LANGUAGE sql SET search_path = pg_catalog, slipring, pg_temp AS $$
    SELECT slipring.send($1, convert_to($2, 'UTF8'), $3, $4, $5, $6, $7)
$$;
