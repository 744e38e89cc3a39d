-- Purpose: the plain INSERT of the same row inside a function that a user without rights on the
--   table may call: what any send by a function of SQL costs at least.
-- Inputs: p_body.
-- Lock: the row of its own.
-- Index: adds to plain_order.
CREATE OR REPLACE FUNCTION plain_send(p_body bytea) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    v_id bigint;
BEGIN
    INSERT INTO plain (place, sent_ms, priority, bytes, body)
    VALUES (4, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, 1024, length(p_body),
        p_body)
    RETURNING id INTO v_id;
    RETURN v_id;
END $$;
