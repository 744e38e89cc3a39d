-- Purpose: sends several messages inside the caller's transaction, in their order.
-- Inputs:  the queue's name; the bodies; priority, delay and group of all; deduplication ids and
--          headers with one entry for each body, or null.
-- Lock:    none; the entries of deduplication ids.
-- Index:   as send.
-- Answers: the numbers.
CREATE OR REPLACE FUNCTION slipring.send_batch(
    queue text, bodies bytea[], priority bigint DEFAULT 1024, delay interval DEFAULT NULL,
    "group" text DEFAULT NULL, dedup_ids text[] DEFAULT NULL, headers jsonb[] DEFAULT NULL)
RETURNS bigint[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET jit = off AS $$
#variable_conflict use_variable
DECLARE
    v_queue slipring.queue;
    v_before bigint;
    v_generation bigint;
    v_last int := cardinality(bodies);
BEGIN
    IF v_last > 10000 THEN
        PERFORM slipring.fail('SR006', format('batch_messages_max is 10000, but %s was asked for',
            v_last), jsonb_build_object('limit', 'batch_messages_max', 'limit_value', 10000,
            'asked', v_last));
    ELSIF coalesce(v_last, 0) = 0 THEN
        RETURN '{}';
    END IF;
    SELECT * INTO v_queue FROM slipring.queue q WHERE q.name = send_batch.queue;
    IF priority = ANY (v_queue.lanes) AND NOT v_queue.fifo AND delay IS NULL AND "group" IS NULL
        AND dedup_ids IS NULL AND headers IS NULL AND v_queue.delay_ms = 0
        AND v_queue.messages_max IS NULL AND v_queue.bytes_max IS NULL
        AND (SELECT max(octet_length(b)) <= v_queue.message_bytes_max AND count(b) = count(*)
             FROM unnest(bodies) b) THEN
        v_before := slipring.id_take(v_queue, v_last);
        v_generation := slipring.generation_now(v_queue);
        INSERT INTO slipring.message (id, lane, sent_ms, place, bytes, n, bytes_each, body)
        SELECT v_before + p.last, priority,
            (extract(epoch FROM statement_timestamp()) * 1000)::bigint,
            v_queue.place * 4 + v_generation % 3, octet_length(p.body) - coalesce(2 * p.n, 0),
            p.n, p.bytes_each, p.body
        FROM slipring.pack_bodies(bodies) p;
        RETURN ARRAY(SELECT v_before + n FROM generate_series(1, v_last) n);
    END IF;
    RETURN slipring.send_rows(queue, bodies, array_fill(priority, ARRAY[v_last]),
        array_fill(slipring.interval_ms(delay, 'the delay'), ARRAY[v_last]),
        array_fill("group", ARRAY[v_last]),
        coalesce(dedup_ids, array_fill(NULL::text, ARRAY[v_last])),
        ARRAY(SELECT slipring.headers_text(headers[n]) FROM generate_series(1, v_last) n
              ORDER BY n));
END $$;

CREATE OR REPLACE FUNCTION slipring.send_batch(
    queue text, bodies jsonb[], priority bigint DEFAULT 1024, delay interval DEFAULT NULL,
    "group" text DEFAULT NULL, dedup_ids text[] DEFAULT NULL, headers jsonb[] DEFAULT NULL)
RETURNS bigint[] LANGUAGE sql SET search_path = pg_catalog, slipring, pg_temp AS $$
    SELECT slipring.send_batch($1, ARRAY(SELECT convert_to(b::text, 'UTF8')
        FROM unnest($2) WITH ORDINALITY u(b, n) ORDER BY n), $3, $4, $5, $6, $7)
$$;

CREATE OR REPLACE FUNCTION slipring.send_batch(
    queue text, bodies text[], priority bigint DEFAULT 1024, delay interval DEFAULT NULL,
    "group" text DEFAULT NULL, dedup_ids text[] DEFAULT NULL, headers jsonb[] DEFAULT NULL)
RETURNS bigint[] LANGUAGE sql SET search_path = pg_catalog, slipring, pg_temp AS $$
    SELECT slipring.send_batch($1, ARRAY(SELECT convert_to(b, 'UTF8')
        FROM unnest($2) WITH ORDINALITY u(b, n) ORDER BY n), $3, $4, $5, $6, $7)
$$;
