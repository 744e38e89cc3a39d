-- Purpose: takes numbers for parts of a load out of all lanes of its queue.
-- Inputs:  p_queue as locked; p_load; p_blocks, at most 64, see load_block; those that it has
--          stay.
-- Lock:    the caller holds the queue's lock; the view load_reserving_lock in ROW SHARE mode, to the end of the
--          transaction; see load_show.
-- Index:   load_block_pkey; state_newest grows by one entry.
CREATE OR REPLACE FUNCTION slipring.load_reserve_blocks(
    p_queue slipring.queue, p_load int, p_blocks bigint[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_own bigint := pg_current_xact_id()::text::bigint;
    v_block bigint;
    v_xid bigint;
    v_base bigint;
    v_taken int8multirange := '{}';
    v_state slipring.state;
    v_past bigint;
BEGIN
    FOR v_block IN SELECT b FROM unnest(p_blocks) b WHERE NOT EXISTS (SELECT
            FROM slipring.load_block k WHERE k.load_id = p_load AND k.block = b) ORDER BY b LOOP
        IF v_past IS NULL THEN
            LOCK TABLE slipring.load_reserving_lock IN ROW SHARE MODE;
            v_past := slipring.load_show(p_queue.queue_id, v_own);
        END IF;
        BEGIN
            -- The number of a subtransaction is one that nobody sends with: id_take knows those of
            -- transactions only. xmin has its lower half.
            INSERT INTO slipring.load_block (load_id, block) VALUES (p_load, v_block)
            RETURNING xmin::text::bigint INTO v_xid;
            v_xid := v_own + ((v_xid - (v_own & 4294967295)) & 4294967295);
            IF v_xid >= v_past THEN
                RAISE EXCEPTION USING ERRCODE = '40001', MESSAGE = 'more than {{LOAD_RESERVING_XIDS}} '
                    'other transactions began while parts of a load were reserved', HINT = 'Try again.';
            END IF;
            v_base := (v_xid + p_queue.xid_base) << {{XID_SHIFT}};
            UPDATE slipring.load_block b SET base = v_base
            WHERE b.load_id = p_load AND b.block = v_block;
        EXCEPTION WHEN SQLSTATE 'SR100' THEN
            -- Never; a block with a handler is a subtransaction.
            RAISE;
        END;
        v_taken := v_taken + int8multirange(int8range(v_base, v_base + {{XID_NUMBERS}}));
    END LOOP;
    IF isempty(v_taken) THEN
        RETURN;
    END IF;
    v_state := slipring.state_read(p_queue);
    v_state.seq := v_state.seq + 1;
    FOR v_at IN 1..cardinality(v_state.lanes) LOOP
        v_state.open[v_at] := v_state.open[v_at] - v_taken;
    END LOOP;
    PERFORM slipring.state_write(p_queue, v_state);
END $$;
