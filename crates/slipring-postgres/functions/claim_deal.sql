-- Purpose: deals messages in hand-out order to receives (S7.1, S11.2).
-- Inputs:  p_queue; p_up_to of each receive; p_attempts and p_sizes of the messages in order, one
--          more than may be given where there is one more; p_room, how many may be leased.
-- Lock:    none.
-- Index:   none.
-- Answers: the receive of each message that is given, always the first ones, and why there are
--          no more.
CREATE OR REPLACE FUNCTION slipring.claim_deal(
    p_queue slipring.queue, p_up_to int[], p_attempts bigint[], p_sizes int[], p_room bigint,
    OUT demands int[], OUT end_kind text)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_next int := 1;
    v_found int := coalesce(cardinality(p_attempts), 0);
    v_bytes bigint := 0;
    v_company bigint;
    v_own bigint;
    v_got bigint;
    v_had bigint;
BEGIN
    demands := '{}';
    end_kind := 'more';
    FOR d IN 1..cardinality(p_up_to) LOOP
        v_company := least(greatest(p_up_to[d], 1), p_room);
        v_got := 0;
        v_had := p_room;
        WHILE v_next <= v_found AND v_bytes < 67108864 LOOP
            v_own := least(v_company, slipring.company(p_queue, p_attempts[v_next],
                greatest(p_up_to[d], 1)));
            EXIT WHEN v_got >= v_own;
            v_company := v_own;
            demands := demands || (d - 1);
            v_bytes := v_bytes + p_sizes[v_next];
            v_got := v_got + 1;
            v_next := v_next + 1;
            p_room := p_room - 1;
        END LOOP;
        IF v_got < greatest(p_up_to[d], 1) THEN
            IF v_next > v_found THEN
                end_kind := 'drained';
                RETURN;
            ELSIF v_got = v_had THEN
                end_kind := 'in_flight_limit';
                RETURN;
            END IF;
        END IF;
        EXIT WHEN v_bytes >= 67108864;
    END LOOP;
END $$;
