-- Purpose: takes hand-outs of users' transactions into a state: those that this snapshot sees.
-- Inputs:  p_queue; p_state, with taken.
-- Lock:    the caller holds the queue's lock where it will write the state.
-- Index:   lease_newest, the ranges of taken_spans, in each slot; the partitions' order
--          indexes where some were counted, or are not ready any more; load_held where a lane is new.
-- Answers: the state, not written.
CREATE OR REPLACE FUNCTION slipring.taken_read(p_queue slipring.queue, p_state slipring.state)
RETURNS slipring.state LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_lane record;
    v_at int;
    v_range record;
    v_left record;
    v_ready int8multirange;
BEGIN
    FOR v_lane IN
        SELECT t.lane, coalesce((SELECT range_agg(r) FROM unnest(array_agg(t.open)) o
                CROSS JOIN LATERAL unnest(o) r), '{}') AS open, sum(t.n)::bigint AS n,
            sum(t.bytes)::bigint AS bytes, min(t.deadline_ms) AS deadline_ms,
            range_agg(int8range(t.fence, t.fence + 1)) AS fences
        FROM slipring.taken_spans(p_state.taken) r CROSS JOIN LATERAL (
            SELECT l.lane, l.open, l.n, l.bytes, l.deadline_ms, l.fence
            FROM lease l WHERE l.queue_id = p_queue.queue_id AND l.fence >= r.first
                AND l.fence < r.past AND l.part = 0 AND l.seq = 0 AND l.fence <@ p_state.taken
            OFFSET 0) t
        GROUP BY t.lane
    LOOP
        IF v_lane.lane <> ALL (p_state.lanes) THEN
            -- The lane is newer than p_queue.
            p_state := slipring.state_add_lane(p_state, v_lane.lane);
            v_at := array_position(p_state.lanes, v_lane.lane);
            p_state.open[v_at] := p_state.open[v_at] - slipring.load_held(p_queue.queue_id);
        END IF;
        v_at := array_position(p_state.lanes, v_lane.lane);
        v_ready := p_state.open[v_at] * v_lane.open;
        p_state.open[v_at] := p_state.open[v_at] - v_lane.open;
        p_state.leased := p_state.leased + v_lane.n;
        p_state.leased_bytes := p_state.leased_bytes + v_lane.bytes;
        p_state.lapse_ms := least(p_state.lapse_ms, v_lane.deadline_ms);
        p_state.taken := p_state.taken - v_lane.fences;
        IF v_ready = v_lane.open AND isempty(v_lane.open * p_state.uncounted) THEN
            p_state.counted[v_at] := p_state.counted[v_at] - v_lane.n;
            p_state.counted_bytes[v_at] := p_state.counted_bytes[v_at] - v_lane.bytes;
            v_ready := '{}';
        END IF;
        FOR v_range IN SELECT * FROM slipring.spans(v_ready - p_state.uncounted) LOOP
            v_left := slipring.log_count(slipring.live_tables(p_queue, p_state), v_lane.lane,
                v_range.first, v_range.past);
            p_state.counted[v_at] := p_state.counted[v_at] - v_left.n;
            p_state.counted_bytes[v_at] := p_state.counted_bytes[v_at] - v_left.bytes;
        END LOOP;
        p_state.taken_journal := pg_sequence_last_value('slipring.journal');
    END LOOP;
    RETURN p_state;
END $$;
