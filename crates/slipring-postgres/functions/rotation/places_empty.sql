-- Purpose: empties the message tables of deleted queues, once nobody can write to them any more,
--          so that new queues may use them.
-- Inputs:  none.
-- Lock:    the caller holds the lock of rotation. ACCESS EXCLUSIVE on the
--          tables of one place at a time; a busy one is left for later.
-- Index:   place_free.
-- Answers: whether it did something.
CREATE OR REPLACE FUNCTION slipring.places_empty()
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_place slipring.place;
    v_base bigint := (SELECT s.xid_base FROM slipring.store s);
    v_did boolean;
    v_began timestamptz := clock_timestamp();
BEGIN
    IF pg_current_xact_id_if_assigned() IS NOT NULL OR slipring.dump_begins() THEN
        RETURN false;
    END IF;
    -- Whoever saw one of the queues had its number before the queue was deleted, and that is seen here; the
    -- number that this transaction gets now is higher.
    UPDATE slipring.place p SET mark = pg_current_xact_id()::text::bigint + v_base
    WHERE p.queue_id IS NULL AND NOT p.empty AND p.mark IS NULL;
    v_did := FOUND;
    FOR v_place IN SELECT * FROM slipring.place p WHERE p.queue_id IS NULL AND NOT p.empty
        AND p.mark < pg_snapshot_xmin(pg_current_snapshot())::text::bigint + v_base ORDER BY p.place
    LOOP
        EXIT WHEN slipring.turn_over(v_began);
        BEGIN
            EXECUTE format('LOCK TABLE slipring.message_%1$s_0, slipring.message_%1$s_1,
                slipring.message_%1$s_2 IN ACCESS EXCLUSIVE MODE NOWAIT', v_place.place);
            EXECUTE format('TRUNCATE slipring.message_%1$s_0, slipring.message_%1$s_1,
                slipring.message_%1$s_2', v_place.place);
            EXECUTE format('DROP SEQUENCE IF EXISTS %s, %s', v_place.generation,
                v_place.endings);
            IF v_place.lock_view IS NOT NULL THEN
                -- A dump may be reading its definition, on PostgreSQL 15 and older.
                EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE NOWAIT', v_place.lock_view);
                EXECUTE format('DROP VIEW %s', v_place.lock_view);
            END IF;
            UPDATE slipring.place p SET empty = true, generation = NULL, endings = NULL,
                lock_view = NULL
            WHERE p.place = v_place.place;
            v_did := true;
        EXCEPTION WHEN lock_not_available THEN
            -- Somebody is in one of the tables; the next pass tries again.
            NULL;
        END;
    END LOOP;
    RETURN v_did;
END $$;
