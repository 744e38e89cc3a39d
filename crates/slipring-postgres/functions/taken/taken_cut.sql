-- Purpose: which message numbers are settled at this moment, for who has not the queue's lock: those of cut
--          without the numbers that an open transaction has taken for a load. They are those of its
--          subtransactions, which are in no snapshot, and are not out of the state that others read. A hand-out
--          that had them as numbers between its messages would have the load's messages, once it is published.
-- Inputs:  p_queue. The caller reads the state, by which what it answers is limited, afterwards, or looks then
--          whether the one it has is still the newest: a transaction that took numbers and has committed by then
--          has removed them from the state.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.taken_cut(p_queue slipring.queue)
RETURNS int8multirange LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_done int8multirange := slipring.cut(p_queue.xid_base);
    v_value bigint := pg_sequence_last_value(slipring.load_reserving(p_queue.queue_id));
    v_seen pg_snapshot;
    v_first bigint;
    v_past bigint;
BEGIN
    IF v_value IS NULL THEN
        RETURN v_done;
    END IF;
    -- Read after the sequence: a transaction that is shown there is in this snapshot, or has ended.
    v_seen := pg_current_snapshot();
    v_first := v_value >> {{LOAD_SHOWN_SHIFT}};
    v_past := v_first + (v_value & {{LOAD_SHOWN_MASK}});
    IF v_past <= pg_snapshot_xmin(v_seen)::text::bigint OR NOT EXISTS (
        SELECT FROM pg_snapshot_xip(v_seen) x
        WHERE x::text::bigint >= v_first AND x::text::bigint < v_past)
    THEN
        RETURN v_done;
    END IF;
    v_past := least(v_past, pg_snapshot_xmax(v_seen)::text::bigint);
    RETURN v_done - coalesce((
        SELECT range_agg(int8range((x + p_queue.xid_base) << {{XID_SHIFT}},
            (x + 1 + p_queue.xid_base) << {{XID_SHIFT}}))
        FROM generate_series(v_first, v_past - 1) x
        WHERE pg_xact_status(x::text::xid8) = 'in progress'), '{}');
END $$;
