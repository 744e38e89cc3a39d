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
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    v_place int;
    v_generation_seq regclass;
    v_activity regclass;
    v_xid_base bigint;
    v_id bigint;
    v_sent text;
    v_generation bigint;
    v_bytes int := octet_length(body);
BEGIN
    -- A message that needs nothing but a row of the log; id_take and generation_now say what
    -- stands here in their steps, in the same order.
    IF delay IS NULL AND "group" IS NULL AND dedup_id IS NULL AND headers IS NULL THEN
        SELECT q.place, q.generation, q.activity, q.xid_base
        INTO v_place, v_generation_seq, v_activity, v_xid_base
        FROM slipring.queue q
        WHERE q.name = send.queue AND send.priority = ANY (q.lanes) AND NOT q.fifo
            AND q.delay_ms = 0 AND v_bytes <= q.message_bytes_max
            AND q.messages_max IS NULL AND q.bytes_max IS NULL;
        v_sent := current_setting('slipring.sent', true);
        IF v_place IS NOT NULL AND v_sent IS DISTINCT FROM '262143' THEN
            v_id := (pg_current_xact_id()::text::bigint + v_xid_base) << 18;
            IF v_sent <> '' THEN
                v_id := v_id + v_sent::int;
            END IF;
            v_generation := pg_sequence_last_value(v_generation_seq);
            IF v_generation >= 0 THEN
                INSERT INTO slipring.message (id, lane, sent_ms, place, bytes, body)
                VALUES (v_id, priority,
                    (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
                    v_place * 4 + v_generation % 3, v_bytes, body);
                PERFORM nextval(v_activity),
                    set_config('slipring.sent', ((v_id & 262143) + 1)::text, true);
                RETURN v_id;
            END IF;
        END IF;
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
