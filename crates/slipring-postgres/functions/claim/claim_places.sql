-- Purpose: reads what receives of a standard queue get where messages with pictures are ready too:
--          the log lane by lane, and the places of the others between (S7.1, S7.2, S11.1). It deals
--          as claim_share does, but counts the messages of the log instead of looking at each.
-- Inputs:  p_queue, p_state; p_done, the cut; p_up_to of all receives, p_most of one; p_marks,
--          p_feeds and p_limits of the three standings, of which the third is read again where the
--          log has too few.
-- Lock:    the caller holds the queue's lock.
-- Index:   see claim_read, claim_pictures.
-- Answers: what the lanes gave; of each message with a picture its standing, number and place among
--          all that are given; the new count of deliveries that went past failing messages; why
--          there are no more: null where others have to look message by message, see claim_beside.
CREATE OR REPLACE FUNCTION slipring.claim_places(
    p_queue slipring.queue, p_state slipring.state, p_done int8multirange, p_up_to bigint,
    p_most bigint, p_marks slipring.mark[], INOUT p_feeds slipring.feed[],
    INOUT p_limits bigint[], OUT reads slipring.lane_read[], OUT standings int[],
    OUT ids bigint[], OUT places bigint[], OUT passed int, OUT end_kind text)
LANGUAGE plpgsql AS $$
DECLARE
    v_from text := slipring.live_tables(p_queue, p_state);
    v_old slipring.feed;
    v_old_last int := 0;
    v_bad slipring.feed := p_feeds[3];
    v_old_next int := 1;
    v_bad_next int := 1;
    v_left bigint := p_up_to;
    v_room bigint := {{CLAIM_BYTES_MAX}};
    v_kept bigint;
    v_rank bigint;
    v_todo int8multirange;
    v_read slipring.lane_read;
    v_bound boolean;
    v_first bigint;
    v_turns bigint;
    v_next int;
    v_left_out int := p_state.passed_over / {{LEFT_OUT_UNIT}};
BEGIN
    standings := '{}';
    passed := p_state.passed_over % {{LEFT_OUT_UNIT}};
    IF coalesce((p_feeds[1]).ids, (p_feeds[2]).ids) IS NOT NULL THEN
        v_old := slipring.claim_in_place(p_feeds[1], p_feeds[2]);
        v_old_last := cardinality(v_old.ids);
    END IF;
    -- Messages that were left out begin the next receive, see claim_share.
    IF passed >= {{FAILING_FIRST}} AND v_bad.ids IS NOT NULL
        OR v_left_out >= {{LEFT_OUT_FIRST}} AND v_old_last > 0
        OR v_old_last >= p_limits[1] OR p_queue.max_attempts IS NOT NULL AND EXISTS (
            SELECT FROM unnest(v_old.attempts || v_bad.attempts) a
            WHERE slipring.company(p_queue, a, p_most) < p_most) THEN
        RETURN;
    END IF;
    FOR v_at IN 1..cardinality(p_state.lanes) + 1 LOOP
        -- Null behind the last lane.
        v_rank := p_state.lanes[v_at] & {{PRIORITY_MAX}};
        v_todo := p_state.open[v_at] * p_done;
        CONTINUE WHEN isempty(v_todo);
        WHILE v_old_next <= v_old_last AND v_left > 0 AND v_room > 0 AND (v_rank IS NULL
            OR (v_old.ranks[v_old_next], v_old.ids[v_old_next]) <= (v_rank, lower(v_todo))) LOOP
            places := places || p_up_to - v_left;
            v_left := v_left - 1;
            IF passed >= {{FAILING_TURN}} AND v_bad.ranks[v_bad_next] <= v_old.ranks[v_old_next] THEN
                passed := 0;
                standings := standings || 3;
                ids := ids || v_bad.ids[v_bad_next];
                v_room := v_room - v_bad.sizes[v_bad_next];
                v_bad_next := v_bad_next + 1;
                CONTINUE;
            ELSIF v_bad.ranks[v_bad_next] <= v_old.ranks[v_old_next] THEN
                passed := passed + 1;
            END IF;
            standings := standings || v_old.ats[v_old_next];
            ids := ids || v_old.ids[v_old_next];
            v_room := v_room - v_old.sizes[v_old_next];
            v_old_next := v_old_next + 1;
        END LOOP;
        EXIT WHEN v_left = 0 OR v_room <= 0 OR v_rank IS NULL;
        v_bound := v_old_next <= v_old_last AND v_old.ranks[v_old_next] = v_rank;
        IF v_bound THEN
            v_todo := v_todo * int8multirange(int8range(NULL, v_old.ids[v_old_next]));
        END IF;
        -- The turns of failing messages: the first behind so many of the log, and then behind each
        -- 99 more. They get half of the room at most: without the messages before them they have no turn.
        v_first := greatest({{FAILING_TURN}} - passed, 0);
        v_turns := 0;
        v_kept := 0;
        WHILE v_bad.ranks[v_bad_next + v_turns::int] <= v_rank
            AND v_left > v_first + {{FAILING_EVERY}} * v_turns
            AND v_kept + v_bad.sizes[v_bad_next + v_turns::int] <= v_room / 2 LOOP
            v_kept := v_kept + v_bad.sizes[v_bad_next + v_turns::int];
            v_turns := v_turns + 1;
        END LOOP;
        v_read := NULL;
        IF v_left > v_turns THEN
            v_read := slipring.claim_read(p_queue, p_state, v_from, v_at, v_todo,
                v_left - v_turns, v_room - v_kept);
            IF v_read.leases_differ OR v_bound AND NOT v_read.ended THEN
                RETURN;
            END IF;
        END IF;
        IF v_read.total > 0 THEN
            reads := reads || v_read;
        ELSE
            v_read.total := 0;
        END IF;
        v_turns := least(v_turns, (v_read.total - v_first + {{FAILING_TURN}}) / {{FAILING_TURN}});
        FOR v_turn IN 1..v_turns LOOP
            v_room := v_room - v_bad.sizes[v_bad_next];
            standings := standings || 3;
            ids := ids || v_bad.ids[v_bad_next];
            places := places || p_up_to - v_left + v_first + {{FAILING_EVERY}} * (v_turn - 1);
            v_bad_next := v_bad_next + 1;
        END LOOP;
        IF v_turns > 0 THEN
            passed := 0;
            v_first := v_first + {{FAILING_TURN}} * (v_turns - 1);
        ELSE
            v_first := 0;
        END IF;
        IF v_bad.ranks[v_bad_next] <= v_rank THEN
            passed := least(passed + v_read.total - v_first, {{PASSED_MAX}});
        END IF;
        v_left := v_left - v_read.total - v_turns;
        v_room := v_room - coalesce(v_read.bytes, 0);
        EXIT WHEN v_left = 0 OR v_read.ended;
    END LOOP;
    passed := passed + {{LEFT_OUT_UNIT}} * v_left_out;
    end_kind := 'more';
    IF v_left > 0 AND v_room > 0 AND v_read.ended IS NOT TRUE THEN
        -- Nothing else is ready: failing messages get what is left.
        IF cardinality(v_bad.ids) >= p_limits[3] THEN
            p_limits[3] := v_bad_next + v_left;
            v_bad := slipring.claim_pictures(p_marks[3], p_done, p_limits[3]);
            p_feeds[3] := v_bad;
        END IF;
        v_next := v_bad_next + slipring.claim_fits(v_bad.sizes[v_bad_next:],
            least(v_left, coalesce(cardinality(v_bad.ids), 0) - v_bad_next + 1),
            {{CLAIM_BYTES_MAX}} - v_room);
        IF v_next > v_bad_next THEN
            passed := {{LEFT_OUT_UNIT}} * v_left_out;
            standings := standings || array_fill(3, ARRAY[v_next - v_bad_next]);
            ids := ids || v_bad.ids[v_bad_next:v_next - 1];
            places := places || ARRAY(
                SELECT generate_series(p_up_to - v_left, p_up_to - v_left + v_next - v_bad_next - 1));
        END IF;
        IF v_next - v_bad_next < v_left AND v_bad.ids[v_next] IS NULL THEN
            end_kind := 'drained';
        END IF;
    END IF;
END $$;
