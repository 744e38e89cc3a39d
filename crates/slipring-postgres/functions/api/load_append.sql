-- Purpose: appends a part to a load in the caller's transaction: it is there if and only if that
--          commits.
-- Inputs:  the load's number; the part's number, which is reserved; the bodies, at most 10,000 and
--          64 MiB, of none a part without messages; priority and group of all; headers with one
--          entry for each body, or null.
-- Lock:    the load's lock, shared, to the end of the transaction: its publication waits for it.
--          The queue's lock where the priority has no lane yet.
-- Index:   as load_append_rows.
-- Answers: whether it was not there.
CREATE OR REPLACE FUNCTION slipring.load_append(
    load bigint, part bigint, bodies bytea[], priority bigint DEFAULT {{PRIORITY_DEFAULT}},
    "group" text DEFAULT NULL, headers jsonb[] DEFAULT NULL)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_load slipring.load;
    v_queue slipring.queue;
    v_last int := coalesce(cardinality($3), 0);
    v_bodies bytea[] := ARRAY(SELECT u.b FROM unnest($3) WITH ORDINALITY AS u(b, n) ORDER BY u.n);
    v_headers text[];
    v_sizes bigint[];
    v_bytes bigint;
    v_checksum bigint;
    v_packs record;
BEGIN
    PERFORM slipring.isolation_check(), slipring.load_allow($1), slipring.load_lock($1, false);
    v_load := slipring.load_open($1);
    SELECT * INTO v_queue FROM slipring.queue q WHERE q.queue_id = v_load.queue_id;
    IF v_queue.queue_id IS NULL THEN
        PERFORM slipring.queue_gone(v_load.queue_id);
    ELSIF $3 IS NULL THEN
        PERFORM slipring.fail('SR007', 'bodies is null; give an array, an empty one for a part '
            'without messages', jsonb_build_object('load', $1, 'part', $2, 'queue', v_queue.name));
    ELSIF v_last > {{BATCH_MESSAGES_MAX}} THEN
        PERFORM slipring.fail_limit(v_queue.name, 'load_part_messages_max', {{BATCH_MESSAGES_MAX}},
            v_last);
    END IF;
    PERFORM slipring.entries_check('headers', cardinality($6), v_last, v_queue.name);
    SELECT array_agg(slipring.headers_text(u.h, v_queue.name, u.n::int - 1) ORDER BY u.n)
    INTO v_headers FROM unnest($6) WITH ORDINALITY AS u(h, n);
    IF v_last = 0 THEN
        PERFORM slipring.message_check(v_queue, '', $4, $5, NULL, NULL, NULL);
    END IF;
    FOR v_n IN 1..v_last LOOP
        PERFORM slipring.message_check(v_queue, v_bodies[v_n], $4, $5, NULL, v_headers[v_n],
            v_n - 1);
    END LOOP;
    SELECT array_agg(s.size ORDER BY s.n), coalesce(sum(s.size), 0) INTO v_sizes, v_bytes
    FROM (SELECT u.n, octet_length(u.b) + slipring.headers_bytes(v_headers[u.n])
            + coalesce(octet_length($5), 0) AS size
        FROM unnest(v_bodies) WITH ORDINALITY AS u(b, n)) s;
    IF v_last > 1 AND v_bytes > {{BATCH_BYTES_MAX}} THEN
        PERFORM slipring.fail_limit(v_queue.name, 'load_part_bytes_max', {{BATCH_BYTES_MAX}}, v_bytes);
    END IF;
    IF array_remove(v_headers, NULL) = '{}' THEN
        v_headers := NULL;
    END IF;
    v_checksum := hashtextextended(jsonb_build_array($4, $5, v_headers)::text,
        CASE WHEN v_last = 0 THEN 0 ELSE hash_array_extended(v_bodies, 0) END);
    IF $5 IS NULL AND v_headers IS NULL THEN
        SELECT coalesce(array_agg(p.body ORDER BY p.last), '{}') AS bodies,
            array_agg(p.n ORDER BY p.last) AS ns, array_agg(p.bytes_each ORDER BY p.last) AS eachs
        INTO v_packs FROM slipring.pack_bodies(v_bodies) p;
        RETURN slipring.load_append_rows($1, $2, v_checksum, slipring.now_ms(), v_packs.bodies,
            ARRAY[$4], NULL, NULL, NULL, v_packs.ns, v_packs.eachs, ARRAY[v_bytes], v_last, 0, 0);
    END IF;
    RETURN slipring.load_append_rows($1, $2, v_checksum, slipring.now_ms(), v_bodies,
        array_fill($4, ARRAY[v_last]), NULL, array_fill($5, ARRAY[v_last]), v_headers, NULL, NULL,
        v_sizes, v_last, 0, 0);
END $$;

CREATE OR REPLACE FUNCTION slipring.load_append(
    load bigint, part bigint, bodies jsonb[], priority bigint DEFAULT {{PRIORITY_DEFAULT}},
    "group" text DEFAULT NULL, headers jsonb[] DEFAULT NULL)
RETURNS boolean LANGUAGE sql SET search_path = pg_catalog, slipring, pg_temp AS $$
    SELECT slipring.load_append($1, $2, CASE WHEN $3 IS NOT NULL THEN ARRAY(
        SELECT convert_to(b::text, 'UTF8') FROM unnest($3) WITH ORDINALITY u(b, n) ORDER BY n) END,
        $4, $5, $6)
$$;

CREATE OR REPLACE FUNCTION slipring.load_append(
    load bigint, part bigint, bodies text[], priority bigint DEFAULT {{PRIORITY_DEFAULT}},
    "group" text DEFAULT NULL, headers jsonb[] DEFAULT NULL)
RETURNS boolean LANGUAGE sql SET search_path = pg_catalog, slipring, pg_temp AS $$
    SELECT slipring.load_append($1, $2, CASE WHEN $3 IS NOT NULL THEN ARRAY(
        SELECT convert_to(b, 'UTF8') FROM unnest($3) WITH ORDINALITY u(b, n) ORDER BY n) END,
        $4, $5, $6)
$$;
