-- Purpose: makes the store usable after its database was restored from a dump. In another cluster
--          transaction numbers begin anew: raises what is added to them, so that new message
--          numbers are above all old ones. Roles are found by their names anew.
-- Inputs:  none. Nobody may use the store meanwhile.
-- Lock:    the table of queues against everybody, see queries/barrier.sql; the lock of administration; the
--          catalogue's.
-- Index:   the partitions' order indexes, one step for each lane; all of item_picture, tally,
--          tally_sum, mark, fifo_group and load_block.
-- Answers: what is added now, and how many queues there are.
CREATE OR REPLACE FUNCTION slipring.store_import()
RETURNS TABLE (xid_base bigint, queues bigint)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET search_path = pg_catalog, slipring, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_queue slipring.queue;
    v_state slipring.state;
    v_most bigint := (SELECT max(greatest(i.id, i.entry)) FROM slipring.item_picture i);
    v_found bigint;
    v_base bigint;
    v_restored boolean := (SELECT s.home_at <> s.written_at FROM slipring.store s);
BEGIN
    LOCK TABLE slipring.lock_administration IN SHARE UPDATE EXCLUSIVE MODE;
    -- A transaction that has sent and is open still would be taken for settled by what is added.
    LOCK TABLE slipring.queue IN ACCESS EXCLUSIVE MODE;
    PERFORM slipring.generations_gather();
    v_most := greatest(v_most, (SELECT max(a.id) FROM slipring.ack a),
        (SELECT max(b.base) FROM slipring.load_block b),
        (SELECT max(t.entry) FROM slipring.tally t),
        (SELECT max(g.entry) FROM slipring.fifo_group g),
        (SELECT max(lower(r)) FROM slipring.tally_sum s, unnest(s.unseen) r),
        (SELECT max(lower(r)) FROM slipring.mark m, unnest(m.unseen) r WHERE m.kind < 9),
        -- See taken_fences.
        (SELECT max(l.fence) FROM slipring.lease l WHERE l.fence < 0) + {{BIGINT_MAX}} + 1);
    -- Each of the three tables of a set may have messages that count, as in import_generation.
    PERFORM setval(s.low, greatest(pg_sequence_last_value(s.now) - 2, 0))
    FROM (SELECT format('slipring.place_generation_%s', r.place)::regclass AS now,
              format('slipring.place_low_%s', r.place)::regclass AS low
          FROM slipring.place_rotation r) s;
    UPDATE slipring.place_rotation r SET mark = NULL, passed = 0;
    UPDATE slipring.place_move m SET waits = NULL, mark = NULL;
    FOR v_queue IN SELECT * FROM slipring.queue LOOP
        PERFORM slipring.import_generation(v_queue, slipring.now_ms());
        v_state := slipring.state_read(v_queue);
        FOR v_at IN 1..cardinality(v_state.lanes) LOOP
            v_most := greatest(v_most, (SELECT max(lower(r)) FROM unnest(v_state.open[v_at]) r));
            EXECUTE format('SELECT id FROM %s m WHERE lane = $1 ORDER BY id DESC LIMIT 1',
                slipring.live_tables(v_queue, v_state))
            INTO v_found USING v_state.lanes[v_at];
            v_most := greatest(v_most, v_found);
        END LOOP;
        v_most := greatest(v_most, (SELECT max(lower(r)) FROM unnest(v_state.uncounted) r),
            (SELECT max(lower(r)) FROM unnest(v_state.acks) r), v_state.generation_mark << {{XID_SHIFT}},
            (SELECT max(lower(r)) FROM unnest(v_state.taken) r) + {{BIGINT_MAX}} + 1);
    END LOOP;
    v_base := (coalesce(v_most, 0) >> {{XID_SHIFT}}) + 1;
    UPDATE slipring.store SET xid_base = v_base, written_at = now(),
        system_identifier = slipring.store_system_identifier();
    UPDATE slipring.queue q SET xid_base = v_base, written_at = now();
    UPDATE slipring.place p SET mark = NULL WHERE p.mark IS NOT NULL;
    PERFORM setval('slipring.journal_mark', 0), setval('slipring.shelf_mark', 0),
        setval('slipring.dedup_mark', 0);
    PERFORM slipring.grantees_now(v_restored);
    PERFORM slipring.rights_apply_all();
    RETURN QUERY SELECT v_base, count(*) FROM slipring.queue;
END $$;
