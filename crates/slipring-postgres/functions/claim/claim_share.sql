-- Purpose: deals messages of a standard queue to receives (S7.1, S7.2, S11): as the module deal of
--          the core does.
-- Inputs:  p_queue; p_up_to of each receive; p_room, how many may be leased; p_passed, the queue's
--          count of deliveries that went past failing messages, and times 1000 of those that went
--          past a message of standing 2 that was left out; of each standing (1 untried, 2 with
--          one to three attempts, 3 failing) the messages in order, one more than may be given
--          where there is one more: ranks (priorities), ids, sizes and attempts.
-- Lock:    none.
-- Index:   none.
-- Answers: standing and receive of each message that is given, in hand-out order: always the first
--          ones of a standing; the new count; and why there are no more.
CREATE OR REPLACE FUNCTION slipring.claim_share(
    p_queue slipring.queue, p_up_to int[], p_room bigint, p_passed int, p_feeds slipring.feed[],
    OUT standings int[], OUT demands int[], OUT passed int, OUT end_kind text)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_new slipring.feed := p_feeds[1];
    v_old slipring.feed := p_feeds[2];
    v_bad slipring.feed := p_feeds[3];
    v_next int[] := '{1,1,1}';
    v_bytes bigint := 0;
    v_up_to bigint;
    v_most bigint;
    v_got bigint;
    v_had bigint;
    v_at int;
    v_fits bigint;
    v_rank bigint;
    v_id bigint;
    v_waits boolean;
    v_left_out int := p_passed / {{LEFT_OUT_UNIT}};
BEGIN
    standings := '{}';
    demands := '{}';
    passed := p_passed % {{LEFT_OUT_UNIT}};
    end_kind := 'more';
    FOR d IN 1..cardinality(p_up_to) LOOP
        v_up_to := greatest(p_up_to[d], 1);
        v_most := least(v_up_to, p_room);
        v_got := 0;
        v_had := p_room;
        WHILE v_got < v_most AND v_bytes < {{CLAIM_BYTES_MAX}} LOOP
            v_at := NULL;
            v_rank := v_new.ranks[v_next[1]];
            v_id := v_new.ids[v_next[1]];
            IF v_rank IS NOT NULL THEN
                v_at := 1;
            END IF;
            IF v_old.ranks[v_next[2]] IS NOT NULL AND (v_rank IS NULL
                OR (v_old.ranks[v_next[2]], v_old.ids[v_next[2]])
                    < (v_rank, v_id)) THEN
                IF v_got < slipring.company(p_queue, v_old.attempts[v_next[2]], v_up_to) THEN
                    v_at := 2;
                    v_rank := v_old.ranks[v_next[2]];
                ELSIF v_rank IS NULL THEN
                    EXIT;
                ELSE
                    v_left_out := least(v_left_out + 1, {{PASSED_MAX}});
                END IF;
            END IF;
            v_waits := v_bad.ranks[v_next[3]] <= coalesce(v_rank, v_bad.ranks[v_next[3]]);
            IF v_got = 0 AND v_left_out >= {{LEFT_OUT_FIRST}}
                AND v_old.ranks[v_next[2]] IS NOT NULL THEN
                v_at := 2;
                v_left_out := 0;
            ELSIF v_got = 0 AND passed >= {{FAILING_FIRST}}
                AND v_bad.ranks[v_next[3]] IS NOT NULL THEN
                v_at := 3;
                passed := 0;
            ELSIF v_waits AND (v_at IS NULL OR passed >= {{FAILING_TURN}})
                AND v_got < slipring.company(p_queue, v_bad.attempts[v_next[3]], v_up_to) THEN
                v_at := 3;
                passed := 0;
            ELSIF v_waits AND v_at IS NOT NULL THEN
                passed := least(passed + 1, {{PASSED_MAX}});
            END IF;
            EXIT WHEN v_at IS NULL;
            IF v_at > 1 THEN
                v_fits := slipring.company(p_queue, CASE v_at WHEN 2
                    THEN v_old.attempts[v_next[2]] ELSE v_bad.attempts[v_next[3]] END, v_up_to);
                v_most := least(v_most, v_fits);
            END IF;
            v_bytes := v_bytes + CASE v_at WHEN 1 THEN v_new.sizes[v_next[1]]
                WHEN 2 THEN v_old.sizes[v_next[2]] ELSE v_bad.sizes[v_next[3]] END;
            v_next[v_at] := v_next[v_at] + 1;
            standings := standings || v_at;
            demands := demands || (d - 1);
            v_got := v_got + 1;
            p_room := p_room - 1;
        END LOOP;
        IF v_got < v_up_to THEN
            IF v_new.ranks[v_next[1]] IS NULL AND v_old.ranks[v_next[2]] IS NULL
                AND v_bad.ranks[v_next[3]] IS NULL THEN
                end_kind := 'drained';
            ELSIF v_got = v_had THEN
                end_kind := 'in_flight_limit';
            END IF;
        END IF;
        EXIT WHEN v_bytes >= {{CLAIM_BYTES_MAX}} OR end_kind <> 'more';
    END LOOP;
    passed := passed + {{LEFT_OUT_UNIT}} * v_left_out;
END $$;
