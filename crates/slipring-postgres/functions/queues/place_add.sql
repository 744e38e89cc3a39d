-- Purpose: makes a set of message tables that rotates by itself: for queues that share it, or reserved.
-- Inputs:  p_queue for which it is reserved, or null; p_now_ms.
-- Lock:    the caller holds the lock of administration; see place_make.
-- Index:   place_shared grows by one entry.
-- Answers: its number; it counts as that of one queue.
CREATE OR REPLACE FUNCTION slipring.place_add(p_queue int, p_now_ms bigint)
RETURNS int LANGUAGE plpgsql
-- The caller's would act else, with the owner's right to them; see tables_where.
SET default_tablespace = '' SET default_table_access_method = heap AS $$
DECLARE
    v_place int;
BEGIN
    PERFORM slipring.tables_where();
    INSERT INTO slipring.place (queue_id, shared, reserved, queues)
    VALUES (coalesce(p_queue, 0), true, p_queue IS NOT NULL, 1)
    RETURNING place INTO v_place;
    INSERT INTO slipring.place_rotation (place, since_ms) VALUES (v_place, p_now_ms);
    PERFORM slipring.place_make(v_place, true);
    EXECUTE format('CREATE SEQUENCE slipring.place_generation_%s MINVALUE 0 START 0', v_place);
    EXECUTE format('CREATE SEQUENCE slipring.place_low_%s MINVALUE 0 START 0', v_place);
    PERFORM slipring.to_owner(ARRAY['slipring.place_generation_' || v_place,
        'slipring.place_low_' || v_place]);
    PERFORM setval(format('slipring.place_generation_%s', v_place)::regclass, 0),
        setval(format('slipring.place_low_%s', v_place)::regclass, 0);
    RETURN v_place;
END $$;
