-- Purpose: a set of message tables that a new queue shares with others.
-- Inputs:  p_now_ms.
-- Lock:    the caller holds the lock of administration; the row of the place; see place_make.
-- Index:   place_shared.
CREATE OR REPLACE FUNCTION slipring.place_share(p_now_ms bigint)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    v_place int;
BEGIN
    UPDATE slipring.place SET queues = queues + 1
    WHERE place = (SELECT p.place FROM slipring.place p
                   WHERE p.shared AND p.queues < {{PLACE_QUEUES_MAX}} ORDER BY p.place LIMIT 1)
    RETURNING place INTO v_place;
    IF v_place IS NOT NULL THEN
        RETURN v_place;
    END IF;
    INSERT INTO slipring.place (queue_id, shared, queues) VALUES (0, true, 1)
    RETURNING place INTO v_place;
    INSERT INTO slipring.place_rotation (place, since_ms) VALUES (v_place, p_now_ms);
    PERFORM slipring.place_make(v_place, true);
    EXECUTE format('CREATE SEQUENCE slipring.place_generation_%s MINVALUE 0 START 0', v_place);
    EXECUTE format('CREATE SEQUENCE slipring.place_low_%s MINVALUE 0 START 0', v_place);
    PERFORM setval(format('slipring.place_generation_%s', v_place)::regclass, 0),
        setval(format('slipring.place_low_%s', v_place)::regclass, 0);
    RETURN v_place;
END $$;
