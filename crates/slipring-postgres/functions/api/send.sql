-- Purpose: sends one message inside the caller's transaction: it is there if and only if that
--          commits (S10).
-- Inputs:  the queue's name; the body; priority, 0 is the most urgent; delay; group;
--          deduplication id; headers, a JSON object of texts.
-- Lock:    none; the entry of a deduplication id.
-- Index:   queue_name; the partition's order index grows.
-- Answers: the message's number; with a deduplication id that was seen, the first message's.
CREATE OR REPLACE FUNCTION slipring.send(
    queue text, body bytea, priority bigint DEFAULT {{PRIORITY_DEFAULT}}, delay interval DEFAULT NULL,
    "group" text DEFAULT NULL, dedup_id text DEFAULT NULL, headers jsonb DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_variable
DECLARE
    v_id bigint;
    v_next int := 0;
    v_headers text;
    v_more bigint := 0;
    v_fits boolean := true;
BEGIN
    -- A message that needs nothing but a row of the log: what id_take, generation_now and
    -- append_rows do, with as little as possible. What it may not have, send_rows finds and tells.
    IF delay IS NULL AND dedup_id IS NULL THEN
        IF "group" IS NOT NULL OR headers IS NOT NULL THEN
            v_headers := slipring.headers_text(headers, queue);
            SELECT coalesce(sum(octet_length(h.key) + octet_length(h.value)), 0)
                    + coalesce(octet_length("group"), 0),
                count(*) <= {{HEADERS_MAX}}
                    AND coalesce(octet_length("group") <= {{GROUP_BYTES_MAX}}, true)
            INTO v_more, v_fits FROM jsonb_each_text(v_headers::jsonb) h;
        END IF;
        IF pg_current_xact_id_if_assigned() IS NOT NULL THEN
            v_next := slipring.number_take(queue, false, 1);
        END IF;
        -- The transaction's number comes before the generation is read and those who poll are told.
        v_id := pg_current_xact_id()::text::bigint;
        INSERT INTO slipring.message (id, lane, sent_ms, place, bytes, priority, group_name,
            headers, body)
        SELECT ((v_id + q.xid_base) << {{XID_SHIFT}}) + v_next,
            q.lane_base + CASE WHEN q.fifo THEN 0 ELSE send.priority END,
            (date_part('epoch', clock_timestamp()) * 1000)::bigint,
            q.place * 4 + pg_sequence_last_value(q.generation) % 3,
            octet_length(send.body) + v_more, CASE WHEN q.fifo THEN send.priority END, send."group",
            v_headers, send.body
        FROM slipring.queue q
        WHERE q.name = send.queue AND CASE WHEN send.priority BETWEEN 0 AND {{PRIORITY_MAX}}
                THEN q.fifo OR q.lane_base + send.priority = ANY (q.lanes) END
            AND (slipring.right_in_all('slipring.right_producer'::regtype)
                OR slipring.queue_right('producer', q.queue_id))
            AND q.home_at = q.written_at AND q.delay_ms = 0 AND octet_length(send.body) + v_more <= q.message_bytes_max
            AND q.messages_max IS NULL AND q.bytes_max IS NULL AND v_fits
            AND (v_headers IS NULL AND "group" IS NULL OR getdatabaseencoding() <> 'SQL_ASCII')
            -- Of an older snapshot, whose queue may have been deleted for good.
            AND has_sequence_privilege(q.generation, 'SELECT') IS NOT NULL
            AND pg_sequence_last_value(q.generation) >= 0 AND nextval(q.activity) >= 0
        RETURNING id INTO v_id;
        IF v_id IS NOT NULL THEN
            RETURN v_id;
        END IF;
    END IF;
    RETURN (slipring.send_rows(queue, ARRAY[body], ARRAY[priority],
        ARRAY[slipring.interval_ms(delay, 'the delay', queue)], ARRAY["group"], ARRAY[dedup_id],
        ARRAY[slipring.headers_text(headers, queue)]))[1];
END $$;

-- Inlined, which a search path of its own would prevent; every name has its schema instead.
CREATE OR REPLACE FUNCTION slipring.send(
    queue text, body jsonb, priority bigint DEFAULT {{PRIORITY_DEFAULT}}, delay interval DEFAULT NULL,
    "group" text DEFAULT NULL, dedup_id text DEFAULT NULL, headers jsonb DEFAULT NULL)
RETURNS bigint LANGUAGE sql AS $$
    SELECT slipring.send($1, pg_catalog.convert_to($2::pg_catalog.text, 'UTF8'), $3, $4, $5, $6, $7)
$$;

CREATE OR REPLACE FUNCTION slipring.send(
    queue text, body text, priority bigint DEFAULT {{PRIORITY_DEFAULT}}, delay interval DEFAULT NULL,
    "group" text DEFAULT NULL, dedup_id text DEFAULT NULL, headers jsonb DEFAULT NULL)
RETURNS bigint LANGUAGE sql AS $$
    SELECT slipring.send($1, pg_catalog.convert_to($2, 'UTF8'), $3, $4, $5, $6, $7)
$$;
