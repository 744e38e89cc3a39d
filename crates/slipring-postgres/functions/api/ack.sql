-- Purpose: acks messages inside the caller's transaction (S10.2, S10.3): takes effect if and only
--          if that commits; an error when a lease is lost.
-- Inputs:  receipts of slipring.receive, repeated ones counting once; all of them or, with an
--          error, none. A text that begins with a brace is an array of them, see receipt_list.
-- Lock:    the messages' lease locks, shared; for all messages of one lease, that lease's lock for acks.
--          They are held to the end of the transaction. Until then no other receive is handed the
--          messages, also when their deadline passes.
-- Index:   see ack_single, ack_lease and ack_queue.
-- Answers: how many.
CREATE OR REPLACE FUNCTION slipring.ack(receipts text[])
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_part record;
    v_count bigint;
BEGIN
    PERFORM slipring.generations_enter();
    v_count := CASE WHEN cardinality(receipts) = 1 THEN slipring.ack_single(receipts[1])::int
        ELSE slipring.ack_lease(receipts) END;
    IF v_count > 0 THEN
        RETURN v_count;
    END IF;
    v_count := 0;
    FOR v_part IN
        SELECT o.queue, array_agg(o.message ORDER BY o.message, o.fence) AS messages,
            array_agg(o.fence ORDER BY o.message, o.fence) AS fences
        FROM (SELECT DISTINCT o.queue, o.message, o.fence FROM slipring.receipt_open(receipts) o) o
        GROUP BY o.queue ORDER BY o.queue
    LOOP
        PERFORM slipring.ack_queue(v_part.queue, v_part.messages, v_part.fences);
        v_count := v_count + cardinality(v_part.messages);
    END LOOP;
    RETURN v_count;
END $$;

-- In SQL, which answers null: a function in PL/pgSQL that answers void does not, and programs look at that.
CREATE OR REPLACE FUNCTION slipring.ack(receipt text)
RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp AS $$
    SELECT slipring.ack(CASE WHEN $1 LIKE '{%' THEN slipring.receipt_list($1) ELSE ARRAY[$1] END)
    WHERE true
$$;
