-- Purpose: sends several messages inside the caller's transaction, in their order.
-- Inputs:  the queue's name; the bodies, at most 10,000 and 64 MiB; priority, delay and group of
--          all; deduplication ids and headers with one entry for each body, or null.
-- Lock:    none; the entries of deduplication ids.
-- Index:   as send.
-- Answers: the numbers.
CREATE OR REPLACE FUNCTION slipring.send_batch(
    queue text, bodies bytea[], priority bigint DEFAULT {{PRIORITY_DEFAULT}}, delay interval DEFAULT NULL,
    "group" text DEFAULT NULL, dedup_ids text[] DEFAULT NULL, headers jsonb[] DEFAULT NULL)
RETURNS bigint[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_variable
DECLARE
    v_queue slipring.queue;
    v_before bigint;
    v_generation bigint;
    v_last int := coalesce(cardinality(bodies), 0);
    v_dedup_ids text[];
    v_headers text[];
BEGIN
    v_queue := slipring.queue_named(queue, 'producer');
    IF v_last > {{BATCH_MESSAGES_MAX}} THEN
        PERFORM slipring.fail_limit(queue, 'batch_messages_max', {{BATCH_MESSAGES_MAX}}, v_last);
    END IF;
    PERFORM slipring.entries_check('dedup_ids', cardinality(dedup_ids), v_last, queue),
        slipring.entries_check('headers', cardinality(headers), v_last, queue);
    IF v_last = 0 THEN
        -- What holds for all is checked for none of them as well.
        PERFORM slipring.message_check(v_queue, '', priority, "group", NULL, NULL, NULL),
            slipring.interval_ms(delay, 'the delay', queue);
        RETURN '{}';
    ELSIF array_ndims(bodies) > 1 OR array_lower(bodies, 1) <> 1 THEN
        bodies := ARRAY(SELECT u.b FROM unnest(bodies) WITH ORDINALITY AS u(b, n) ORDER BY u.n);
    END IF;
    IF (CASE WHEN priority BETWEEN 0 AND {{PRIORITY_MAX}}
            THEN v_queue.lane_base + priority = ANY (v_queue.lanes) END) AND NOT v_queue.fifo AND delay IS NULL AND "group" IS NULL
        AND dedup_ids IS NULL AND headers IS NULL AND v_queue.delay_ms = 0
        AND v_queue.messages_max IS NULL AND v_queue.bytes_max IS NULL
        AND (SELECT max(octet_length(b)) <= v_queue.message_bytes_max AND count(b) = count(*)
                AND sum(octet_length(b)) <= {{BATCH_BYTES_MAX}} FROM unnest(bodies) b) THEN
        v_before := slipring.id_take(v_queue, v_last);
        v_generation := slipring.generation_now(v_queue);
        INSERT INTO slipring.message (id, lane, sent_ms, place, bytes, n, bytes_each, body)
        SELECT v_before + p.last, v_queue.lane_base + priority,
            (extract(epoch FROM statement_timestamp()) * 1000)::bigint,
            v_queue.place * 4 + v_generation % 3, octet_length(p.body) - coalesce(2 * p.n, 0),
            p.n, p.bytes_each, p.body
        FROM slipring.pack_bodies(bodies) p;
        RETURN ARRAY(SELECT v_before + n FROM generate_series(1, v_last) n);
    END IF;
    -- Whatever dimensions and bounds they came with.
    SELECT array_agg(u.d ORDER BY u.n) INTO v_dedup_ids
    FROM unnest(dedup_ids) WITH ORDINALITY AS u(d, n);
    SELECT array_agg(slipring.headers_text(u.h, queue, u.n::int - 1) ORDER BY u.n)
    INTO v_headers
    FROM unnest(headers) WITH ORDINALITY AS u(h, n);
    RETURN slipring.send_rows(queue, bodies, array_fill(priority, ARRAY[v_last]),
        array_fill(slipring.interval_ms(delay, 'the delay', queue), ARRAY[v_last]),
        array_fill("group", ARRAY[v_last]),
        coalesce(v_dedup_ids, array_fill(NULL::text, ARRAY[v_last])),
        coalesce(v_headers, array_fill(NULL::text, ARRAY[v_last])));
END $$;

CREATE OR REPLACE FUNCTION slipring.send_batch(
    queue text, bodies jsonb[], priority bigint DEFAULT {{PRIORITY_DEFAULT}}, delay interval DEFAULT NULL,
    "group" text DEFAULT NULL, dedup_ids text[] DEFAULT NULL, headers jsonb[] DEFAULT NULL)
RETURNS bigint[] LANGUAGE sql SET search_path = pg_catalog, slipring, pg_temp AS $$
    SELECT slipring.send_batch($1, ARRAY(SELECT convert_to(b::text, 'UTF8')
        FROM unnest($2) WITH ORDINALITY u(b, n) ORDER BY n), $3, $4, $5, $6, $7)
$$;

CREATE OR REPLACE FUNCTION slipring.send_batch(
    queue text, bodies text[], priority bigint DEFAULT {{PRIORITY_DEFAULT}}, delay interval DEFAULT NULL,
    "group" text DEFAULT NULL, dedup_ids text[] DEFAULT NULL, headers jsonb[] DEFAULT NULL)
RETURNS bigint[] LANGUAGE sql SET search_path = pg_catalog, slipring, pg_temp AS $$
    SELECT slipring.send_batch($1, ARRAY(SELECT convert_to(b, 'UTF8')
        FROM unnest($2) WITH ORDINALITY u(b, n) ORDER BY n), $3, $4, $5, $6, $7)
$$;
